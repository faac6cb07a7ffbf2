package generator

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// testRun is the part of union bpf_attr that BPF_PROG_TEST_RUN uses (bpf(2)).
type testRun struct {
	progFD, retval        uint32
	sizeIn, sizeOut       uint32
	dataIn, dataOut       uint64
	repeat, duration      uint32
	ctxSizeIn, ctxSizeOut uint32
	ctxIn, ctxOut         uint64
	flags, cpu, batch     uint32
	_                     uint32
}

// runLive runs a program on repeat live frames. It is not the library's call,
// since that starts over after a signal and sends everything again: here EINTR
// is the caller's to handle.
func runLive(prog int, frame []byte, repeat, batch uint32) error {
	a := testRun{progFD: uint32(prog), sizeIn: uint32(len(frame)), dataIn: uint64(uintptr(unsafe.Pointer(&frame[0]))),
		repeat: repeat, flags: unix.BPF_F_TEST_XDP_LIVE_FRAMES, batch: batch}
	_, _, e := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a))
	runtime.KeepAlive(frame)
	if e != 0 {
		return e
	}
	return nil
}
