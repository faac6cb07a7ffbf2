package port

import "time"

// Stamping says which clock stamps an interface's frames.
type Stamping struct {
	Hardware bool // the NIC's own, of frames sent and of all received
	Clock    int  // number of that clock (/dev/ptpN): equal numbers can be compared; -1 where there is none
}

// Stamped is a Port that tells when a frame left, by the same clock as
// Frame.At: the NIC's where Info.HWTime says so, else the kernel's at the
// driver.
type Stamped interface {
	Port

	// Departure waits for the stamp of the frame sent last, at most for a
	// moment. Its error wraps os.ErrDeadlineExceeded where none came.
	Departure() (time.Time, error)
}
