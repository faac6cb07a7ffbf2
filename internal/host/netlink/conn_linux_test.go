package netlink

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDumpAndRefusal(t *testing.T) {
	c, err := Dial(unix.NETLINK_ROUTE)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	msgs, err := c.Request(unix.RTM_GETLINK, unix.NLM_F_DUMP, make([]byte, unix.SizeofIfInfomsg))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, m := range msgs {
		for typ, v := range Attributes(m.Data[unix.SizeofIfInfomsg:], binary.NativeEndian) {
			found = found || typ == unix.IFLA_IFNAME && String(v) == "lo"
		}
	}
	if !found {
		t.Error("no lo among the links")
	}

	body := Attrs(make([]byte, unix.SizeofIfInfomsg))
	body.String(unix.IFLA_IFNAME, "no-such0")
	_, err = c.Request(unix.RTM_GETLINK, 0, body)
	if refusal, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, unix.ENODEV) || refusal.Error() == "" {
		t.Errorf("an interface that is not there: %v", err)
	}
	if _, err := c.Request(unix.RTM_GETLINK, unix.NLM_F_DUMP, make([]byte, unix.SizeofIfInfomsg)); err != nil {
		t.Errorf("after a refusal: %v", err)
	}
	if _, err := Generic("no-such-family", 1, nil); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "no-such-family") {
		t.Errorf("a family that is not there: %v", err)
	}
	if _, err := Generic("nlctrl", unix.CTRL_CMD_GETFAMILY, nil); !errors.Is(err, unix.EINVAL) {
		t.Errorf("a request without its attribute: %v", err)
	}
}

func TestAcknowledgementCarriesTheKernelsWords(t *testing.T) {
	order := binary.NativeEndian
	body := order.AppendUint32(nil, ^uint32(unix.EINVAL)+1)
	body = append(body, make([]byte, headerLen)...) // the request's header alone: NLM_F_CAPPED
	var words Attrs
	words.String(nlmsgerrAttrMsg, "requested channel count exceeds maximum")
	err := acknowledgement(append(body, words...), 0x300)
	if !errors.Is(err, unix.EINVAL) || !strings.HasSuffix(err.Error(), "exceeds maximum") {
		t.Errorf("%v", err)
	}
	if err := acknowledgement(make([]byte, 20), 0); err != nil {
		t.Errorf("a plain acknowledgement: %v", err)
	}
}
