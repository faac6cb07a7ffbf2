package testnet

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Coalesce has the end gather received frames for d and join those of a
// connection (GRO), which a receiver then acknowledges at once; 0 ends it.
func (e End) Coalesce(d time.Duration) error {
	return e.Namespace.Do(func() error {
		polls := "0"
		if d > 0 {
			polls = "1" // the timer only runs where interrupts are put off
		}
		for name, v := range map[string]string{"gro_flush_timeout": strconv.FormatInt(d.Nanoseconds(), 10), "napi_defer_hard_irqs": polls} {
			if err := os.WriteFile("/sys/class/net/"+e.Interface+"/"+name, []byte(v), 0); err != nil {
				return fmt.Errorf("testnet: coalesce: %w", err)
			}
		}
		return e.switchFeature(ethtoolGRO, d > 0)
	})
}
