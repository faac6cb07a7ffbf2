package explain

import (
	"fmt"

	"github.com/linerate/linerate/internal/wire/frame"
	"github.com/linerate/linerate/result"
)

func applicationRules() []Rule {
	return []Rule{{ID: "app.small-segments", Code: "R-RTOS-1", Group: Window, Title: "The application sends small segments", Ref: "RFC 9293 3.7.1; RFC 1122 4.2.3.4", Check: smallSegments}}
}

// smallSegments finds bulk data that does not fill its segments: each costs a
// system call, a frame's processing and its headers for little payload.
func smallSegments(v View) (result.Finding, bool) {
	payload, ok := segmentPayload(v)
	if !ok {
		return result.Finding{}, false
	}
	mss, ok := v.Get(result.TCPMSS)
	if !ok || mss <= 0 {
		mss = 1500 - float64(frame.Stack{Timestamps: true}.Headers())
	}
	f := result.Finding{
		Verdict: result.DoesNotLimit, Confidence: 0.8,
		Text:     fmt.Sprintf("segments carry %.0f bytes of %.0f", payload, mss),
		Evidence: []result.Value{result.TCPMSS.Of(mss)},
	}
	if size, ok := v.Get(result.FrameSize); ok {
		f.Evidence = append(f.Evidence, result.FrameSize.Of(size))
	}
	if n, ok := v.Sum(result.Messages); ok {
		f.Evidence = append(f.Evidence, result.Messages.Of(n))
	}
	if payload < smallSegment*min(mss, jumboSegment) {
		f.Verdict, f.Confidence = result.Limits, 0.9
		f.Text += ": bulk data in small segments pays a send, a frame and its headers for each"
		f.Gain = fmt.Sprintf("%.1f times fewer frames for the same data", mss/payload)
		f.Trade = "the first byte waits until a larger write is filled; more memory for buffers"
		f.Levers = []result.Advice{{Lever: "ftp.data-buffer", Value: fmt.Sprintf("%.0f", mss), End: "server"}}
	}
	return f, true
}

// segmentPayload returns the mean payload of a data segment of a bulk
// transfer: counted by the stack, or from the mean frame.
func segmentPayload(v View) (float64, bool) {
	bytes, ok1 := v.Sum(result.Bytes)
	segments, ok2 := v.Sum(result.DataSegmentsOut)
	if ok1 && ok2 {
		if segments < bulkSegments {
			return 0, false
		}
		return bytes / segments, true
	}
	size, ok := v.Get(result.FrameSize)
	return size - frame.HeaderBytes - float64(frame.Stack{Timestamps: true}.Headers()), ok
}
