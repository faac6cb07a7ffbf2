//go:build !linux

package stream

// datagramSender sends one datagram at a time.
type datagramSender struct {
	k   *sock
	buf []byte
}

func newDatagramSender(k *sock, t Test) *datagramSender {
	return &datagramSender{k, t.payload(t.Message)}
}

func (*datagramSender) slots() int        { return 1 }
func (d *datagramSender) slot(int) []byte { return d.buf }

func (d *datagramSender) send(int, int) (int, error) {
	n, err := d.k.write(d.buf)
	return min(n, 1), err
}

// datagramReceiver takes one datagram at a time; an empty one looks like none.
type datagramReceiver struct {
	k   *sock
	buf []byte
	got int
}

func newDatagramReceiver(k *sock, _ Test) *datagramReceiver {
	return &datagramReceiver{k: k, buf: make([]byte, maxDatagram)}
}

func (d *datagramReceiver) wait() (err error) {
	d.got, err = d.k.read(d.buf, false)
	return err
}

func (d *datagramReceiver) each(f func([]byte)) {
	if d.got > 0 {
		f(d.buf[:d.got])
	}
}
