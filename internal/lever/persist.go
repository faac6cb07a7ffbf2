package lever

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Persistence is the place where a setting survives a reboot.
type Persistence string

// The places.
const (
	Sysctl Persistence = "sysctl.d" // /etc/sysctl.d
	Link   Persistence = ".link"    // systemd.link(5), applied by udev when the device appears
	Udev   Persistence = "udev"     // a rule that writes sysfs attributes
	Unit   Persistence = "unit"     // a service that runs at boot

	Session Persistence = "" // nowhere: it belongs to a program that runs now
)

// Wanted is a setting that shall survive a reboot.
type Wanted struct {
	Setting
	Value string
	MAC   string // permanent address of Setting.Interface
}

// Files returns the configuration files that make ws last, by path below the
// root of the box. exe is the path of linerate, for settings that no
// configuration format knows.
func Files(ws []Wanted, exe string) map[string]string {
	out := map[string]string{}
	section := func(name, head, line string) {
		if out[name] == "" {
			out[name] = "# Written by linerate tune persist; 'linerate tune rollback' removes it.\n" + head
		}
		out[name] += line + "\n"
	}
	var unit []string
	for _, w := range ws {
		id, _, _ := strings.Cut(w.ID(), "@")
		key, known := linkKeys[id]
		switch {
		case w.Place == Session:
		case w.Place == Sysctl:
			section("etc/sysctl.d/90-linerate.conf", "", strings.TrimPrefix(id, "sysctl.")+" = "+w.Value)
		case w.Place == Link && known && w.MAC != "":
			// Only the first .link file that matches is applied, hence the 10-.
			name := "etc/systemd/network/10-linerate-" + strings.ReplaceAll(w.MAC, ":", "") + ".link"
			section(name, "[Match]\nPermanentMACAddress="+w.MAC+"\n\n[Link]\nNamePolicy=keep kernel database onboard slot path\nMACAddressPolicy=persistent\n", key+"="+linkValue(w.Value))
		case w.Place == Udev && w.MAC != "" && strings.HasPrefix(id, "link."):
			section("etc/udev/rules.d/90-linerate.rules", "", fmt.Sprintf(`ACTION=="add|move", SUBSYSTEM=="net", ATTR{address}==%q, ATTR{%s}=%q`, w.MAC, strings.TrimPrefix(id, "link."), w.Value))
		default:
			unit = append(unit, w.ID()+"="+w.Value)
		}
	}
	if len(unit)+len(out) == 0 {
		return out
	}
	// At boot, what a session left half done is put back before anything is set.
	run := "ExecStart=" + exe + " tune rollback --abandoned"
	if len(unit) > 0 {
		slices.Sort(unit)
		run += "\nExecStart=" + exe + " tune apply --keep"
		for _, u := range unit {
			run += fmt.Sprintf(" %q", u)
		}
	}
	section("etc/systemd/system/linerate-tune.service",
		"[Unit]\nDescription=Settings chosen by linerate\nAfter=network-online.target\nWants=network-online.target\n\n[Service]\nType=oneshot\n",
		run+"\n\n[Install]\nWantedBy=multi-user.target")
	return out
}

// linkKeys are the settings systemd.link(5) knows (version 252).
var linkKeys = map[string]string{
	"link.mtu":                     "MTUBytes",
	"ethtool.coalesce.rx-usecs":    "RxCoalesceSec",
	"ethtool.coalesce.tx-usecs":    "TxCoalesceSec",
	"ethtool.coalesce.rx-frames":   "RxMaxCoalescedFrames",
	"ethtool.coalesce.tx-frames":   "TxMaxCoalescedFrames",
	"ethtool.coalesce.adaptive-rx": "UseAdaptiveRxCoalesce",
	"ethtool.coalesce.adaptive-tx": "UseAdaptiveTxCoalesce",
	"ethtool.rings.rx":             "RxBufferSize",
	"ethtool.rings.tx":             "TxBufferSize",
	"ethtool.channels.combined":    "CombinedChannels",
	"ethtool.channels.rx":          "RxChannels",
	"ethtool.channels.tx":          "TxChannels",
	"ethtool.pause.rx":             "RxFlowControl",
	"ethtool.pause.tx":             "TxFlowControl",
}

func linkValue(v string) string {
	switch v {
	case "on":
		return "yes"
	case "off":
		return "no"
	}
	return v
}

// Conf is a configuration file as a Lever, so that persisting is journalled and
// rolled back like any change. Its value is the content; "" means no file.
type Conf struct{ Path string }

// ID returns "file:" and the path.
func (c Conf) ID() string { return "file:" + c.Path }

// Get returns the content, "" where there is no file.
func (c Conf) Get(context.Context) (string, error) {
	b, err := os.ReadFile(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(b), err
}

// Set writes the content whole or not at all, or removes the file.
func (c Conf) Set(_ context.Context, v string) error {
	if v == "" {
		if err := os.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(c.Path), ".linerate-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(v)
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", c.ID(), err)
	}
	return os.Rename(f.Name(), c.Path)
}
