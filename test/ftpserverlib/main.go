// Ftpserverlib is a plain server made of github.com/fclairamb/ftpserverlib, as
// its documentation shows it: a peer for the bench. It is a module of its own,
// so that linerate doesn't depend on it.
//
//	ftpserverlib ADDRESS DIRECTORY PEM
//
// The login is user/password; PEM holds certificate and key.
package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"os"

	ftpserver "github.com/fclairamb/ftpserverlib"
	"github.com/spf13/afero"
)

type driver struct {
	addr string
	fs   afero.Fs
	tls  *tls.Config
}

func (d *driver) GetSettings() (*ftpserver.Settings, error) {
	return &ftpserver.Settings{ListenAddr: d.addr, DefaultTransferType: ftpserver.TransferTypeBinary}, nil
}

func (d *driver) ClientConnected(ftpserver.ClientContext) (string, error) { return "ready", nil }

func (d *driver) ClientDisconnected(ftpserver.ClientContext) {}

func (d *driver) AuthUser(_ ftpserver.ClientContext, user, password string) (ftpserver.ClientDriver, error) {
	if user != "user" || password != "password" {
		return nil, errors.New("login refused")
	}
	return d.fs, nil
}

func (d *driver) GetTLSConfig() (*tls.Config, error) { return d.tls, nil }

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: ftpserverlib ADDRESS DIRECTORY PEM")
	}
	cert, err := tls.LoadX509KeyPair(os.Args[3], os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	s := ftpserver.NewFtpServer(&driver{
		os.Args[1], afero.NewBasePathFs(afero.NewOsFs(), os.Args[2]), &tls.Config{Certificates: []tls.Certificate{cert}},
	})
	if err := s.Listen(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("serving", s.Addr())
	log.Fatal(s.Serve())
}
