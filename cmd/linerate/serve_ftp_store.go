package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/linerate/linerate/internal/serve/ftp/store"
	"github.com/linerate/linerate/internal/serve/ftp/store/disk"
	"github.com/linerate/linerate/internal/serve/ftp/store/memory"
	"github.com/linerate/linerate/internal/serve/ftp/store/synthetic"
	"github.com/linerate/linerate/internal/serve/ftp/users"
	"github.com/linerate/linerate/result"
)

// ftpStores opens what users see: one store for all who have no root or quota
// of their own, and one for each who has.
type ftpStores struct {
	o    *serveFTPOptions
	base store.Store

	measuring map[string]store.Store // what is in every root for measuring

	mu  sync.Mutex
	own map[string]store.Store // by root and quota
}

func (o *serveFTPOptions) openStores() (*ftpStores, error) {
	zero, err := synthetic.NewZero()
	if err != nil {
		return nil, err
	}
	s := &ftpStores{o: o, own: map[string]store.Store{}}
	s.measuring = map[string]store.Store{"zero": zero, "sink": synthetic.NewSink()}
	if o.dir != "" {
		s.base, err = disk.Open(o.dir, disk.Options{})
		return s, err
	}
	budget, err := result.ParseSize(o.memory)
	if err != nil {
		return nil, usagef("--memory: %v", err)
	}
	s.base, err = memory.New(memory.Options{Budget: budget, Populate: s.o.populate})
	return s, err
}

// of returns what an account sees.
func (s *ftpStores) of(a users.Account) (store.Store, error) {
	st, err := s.rootOf(a)
	if err != nil {
		return nil, err
	}
	st = store.Mount(st, s.measuring, s.o.dir == "")
	if a.ReadOnly || s.o.readOnly {
		st = store.ReadOnly(st)
	}
	return st, nil
}

func (s *ftpStores) rootOf(a users.Account) (store.Store, error) {
	if a.Root == "" && a.Quota == 0 {
		return s.base, nil
	}
	root := a.Root
	if !filepath.IsAbs(root) {
		root = filepath.Join(s.o.dir, filepath.Join("/", root))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(root, "\x00", a.Quota)
	if st, ok := s.own[key]; ok {
		return st, nil
	}
	st, err := disk.Open(root, disk.Options{Quota: a.Quota})
	if err == nil {
		s.own[key] = st
	}
	return st, err
}

func (s *ftpStores) close() error {
	err := s.base.Close()
	for _, st := range s.own {
		err = errors.Join(err, st.Close())
	}
	return err
}
