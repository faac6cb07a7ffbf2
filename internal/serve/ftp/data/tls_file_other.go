//go:build !linux

package data

import (
	"iter"

	"github.com/linerate/linerate/internal/serve/ftp/store"
)

func (t *transfer) sendSealed(*TLSConn, iter.Seq[store.Extent]) (done bool, err error) {
	return false, nil
}
