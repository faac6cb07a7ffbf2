package testnet

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// CharonOptions say whom a Charon agrees with, and on what.
type CharonOptions struct {
	Local, Remote     netip.Addr
	LocalTS, RemoteTS netip.Prefix // what the tunnel is for
	Proposal          string       // of ESP, as swanctl spells it; "" is aes128gcm16
	Initiate          bool
}

// Charon is strongSwan's daemon with its user-space IPsec (kernel-libipsec):
// ESP in UDP on port 4500, keys agreed by IKEv2, routes in table 220.
type Charon struct {
	*Process
	dir string
}

// CharonKeys are those of a tunnel as the initiator sees them; salts are at
// their ends.
type CharonKeys struct {
	InSPI, OutSPI string // hexadecimal
	In, Out       string
}

// StartCharon starts a daemon in n for the length of a test. The one that
// initiates is started last.
func StartCharon(t TB, n *Namespace, o CharonOptions) *Charon {
	t.Helper()
	NeedTool(t, "unshare")
	root := NeedPackages(t, "strongswan-charon", "strongswan-libcharon", "libstrongswan", "libcharon-extra-plugins", "libstrongswan-standard-plugins", "strongswan-swanctl")
	dir, err := os.MkdirTemp("", "charon") // short: a socket's path is
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if o.Proposal == "" {
		o.Proposal = "aes128gcm16"
	}
	files := map[string]string{"strongswan.conf": fmt.Sprintf(charonConfig, dir, dir),
		"swanctl.conf": fmt.Sprintf(charonConnection, o.Local, o.Remote, o.Local, o.Remote, o.LocalTS, o.RemoteTS, o.Proposal, map[bool]string{true: "start", false: "none"}[o.Initiate])}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatalf("%v", err)
		}
	}
	// It looks for plugins where it would be installed.
	env := "STRONGSWAN_CONF=" + dir + "/strongswan.conf LD_LIBRARY_PATH="
	c := &Charon{dir: dir}
	c.Process, err = n.Start(t.Context(), "unshare", "-m", "sh", "-c", "mount -t overlay none -o lowerdir="+root+"/usr/lib:/usr/lib /usr/lib && mount -t tmpfs none /run && exec env "+
		env+"/usr/lib/ipsec /usr/lib/ipsec/charon")
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(c.Stop)
	for range 100 {
		if _, err := os.Stat(dir + "/vici"); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	out, err := n.Run(t.Context(), "env", "STRONGSWAN_CONF="+dir+"/strongswan.conf", "LD_LIBRARY_PATH="+root+"/usr/lib/ipsec", root+"/usr/sbin/swanctl",
		"--load-all", "--file", dir+"/swanctl.conf", "--uri", "unix://"+dir+"/vici")
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, c.Output())
	}
	return c
}

const charonConfig = `charon {
 load = random nonce aes sha2 hmac kdf gcm openssl kernel-libipsec kernel-netlink socket-default vici updown
 filelog {
  out {
   path = %s/log
   flush_line = yes
   default = 1
   chd = 4
  }
 }
 plugins {
  vici {
   socket = unix://%s/vici
  }
  kernel-libipsec {
   allow_peer_ts = yes
  }
 }
}
`

const charonConnection = `connections {
 peer {
  version = 2
  local_addrs = %s
  remote_addrs = %s
  proposals = aes128gcm16-prfsha256-ecp256
  local {
   auth = psk
   id = %s
  }
  remote {
   auth = psk
   id = %s
  }
  children {
   net {
    local_ts = %s
    remote_ts = %s
    esp_proposals = %s
    start_action = %s
   }
  }
 }
}
secrets {
 ike-peer {
  secret = "of the test"
 }
}
`

var (
	charonSPIs = regexp.MustCompile(`established with SPIs ([0-9a-f]+)_i ([0-9a-f]+)_o`)
	charonKey  = regexp.MustCompile(`encryption (initiator|responder) key => `)
	charonHex  = regexp.MustCompile(`\[CHD\] +[0-9]+: ((?:[0-9A-F]{2} )+)`)
)

// Keys waits until the tunnel is there and reads its keys from the log.
func (c *Charon) Keys(ctx context.Context) (k CharonKeys, err error) {
	var text []byte
	for range 200 {
		if text, err = os.ReadFile(c.dir + "/log"); err == nil && charonSPIs.Match(text) {
			break
		}
		select {
		case <-ctx.Done():
			return k, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	m := charonSPIs.FindSubmatch(text)
	if m == nil {
		return k, fmt.Errorf("testnet: charon: no tunnel comes up: %s", text)
	}
	k.InSPI, k.OutSPI = string(m[1]), string(m[2])
	var to *string
	for line := range strings.Lines(string(text)) {
		if m := charonKey.FindStringSubmatch(line); m != nil {
			if to = &k.Out; m[1] == "responder" {
				to = &k.In
			}
			*to = ""
		} else if m := charonHex.FindStringSubmatch(line); m != nil && to != nil {
			*to += strings.ToLower(strings.ReplaceAll(m[1], " ", ""))
		} else {
			to = nil
		}
	}
	if _, err := hex.DecodeString(k.In + k.Out); err != nil || k.In == "" || k.Out == "" {
		return k, fmt.Errorf("testnet: charon: no keys in its log")
	}
	return k, nil
}
