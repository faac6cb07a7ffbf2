package netlink

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
)

// message encodes one message in the byte order given.
func message(order binary.AppendByteOrder, typ uint16, data []byte) []byte {
	b := order.AppendUint32(nil, uint32(headerLen+len(data)))
	b = order.AppendUint16(b, typ)
	b = append(b, make([]byte, 10)...)
	b = append(b, data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func TestMessagesInEitherOrder(t *testing.T) {
	for _, order := range []interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}{binary.LittleEndian, binary.BigEndian} {
		dump := append(message(order, 20, []byte{1, 2, 3}), message(order, 21, nil)...)
		if got := Order(dump); got.String() != order.String() {
			t.Errorf("%v taken for %v", order, got)
		}
		msgs, err := Messages(dump, order)
		if err != nil || len(msgs) != 2 || msgs[0].Type != 20 || !bytes.Equal(msgs[0].Data, []byte{1, 2, 3}) || msgs[1].Type != 21 {
			t.Errorf("%v: %+v, %v", order, msgs, err)
		}
		if _, err := Messages(dump[:len(dump)-1], order); !errors.Is(err, ErrMalformed) {
			t.Errorf("%v: a cut dump gives %v", order, err)
		}
	}
}

func TestAttributesRoundTrip(t *testing.T) {
	var a Attrs
	a.String(1, "eth0")
	a.Nest(2, func(in *Attrs) {
		in.Uint8(3, 7)
		in.Flag(4)
		in.Uint32(5, 1<<31)
	})
	got := map[uint16][]byte{}
	for typ, v := range Attributes(a, binary.NativeEndian) {
		got[typ] = v
		if typ == 2 {
			for typ, v := range Attributes(v, binary.NativeEndian) {
				got[typ] = v
			}
		}
	}
	if s := String(got[1]); s != "eth0" {
		t.Errorf("name %q", s)
	}
	if n, ok := Uint(got[5], binary.NativeEndian); !ok || n != 1<<31 {
		t.Errorf("number %d, %v", n, ok)
	}
	if v, ok := got[4]; !ok || len(v) != 0 {
		t.Errorf("flag %v, %v", v, ok)
	}
	if _, ok := Uint([]byte{1, 2, 3}, binary.NativeEndian); ok {
		t.Error("three bytes read as a number")
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(message(binary.LittleEndian, 16, []byte{8, 0, 1, 0, 1, 2, 3, 4}))
	f.Add(message(binary.BigEndian, 16, []byte{0, 5, 0, 1, 1}))
	f.Fuzz(func(t *testing.T, dump []byte) {
		order := Order(dump)
		msgs, _ := Messages(dump, order)
		total := 0
		for _, m := range msgs {
			total += headerLen + len(m.Data)
			for _, v := range Attributes(m.Data, order) {
				Uint(v, order)
				_ = String(v)
			}
		}
		if total > len(dump) {
			t.Errorf("%d bytes of messages out of %d", total, len(dump))
		}
	})
}
