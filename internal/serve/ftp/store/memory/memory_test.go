package memory

import (
	"testing"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := New(Options{Budget: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			s.Close()
			if free := s.Free(); free != 64<<20 {
				t.Errorf("%d bytes free at the end, of %d", free, 64<<20)
			}
		})
		return s
	})
}
