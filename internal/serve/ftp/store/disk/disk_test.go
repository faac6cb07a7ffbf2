package disk

import (
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/storetest"
)

func TestStore(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "quota and sync": {Quota: 1 << 30, Sync: true}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store {
				s, err := Open(t.TempDir(), o)
				if err != nil {
					t.Fatal(err)
				}
				return s
			})
		})
	}
}
