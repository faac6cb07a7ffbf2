package main

import (
	"time"

	"github.com/linerate/linerate/result"
)

// figures makes the figures of a trial from what the meters counted while it
// took.
func (t *ladderTrial) figures(d []result.Value, took time.Duration) []result.Value {
	sender, receiver := "server", "client"
	if t.direction == directionPut {
		sender, receiver = receiver, sender
	}
	// Counted where it arrives; our own count runs ahead by what is buffered.
	bytes, _ := result.Get(d, result.Bytes)
	if n, ok := result.Get(d, result.TCPBytesReceived, "flow", receiver); ok {
		bytes = n
	} else if n, ok := result.Get(d, result.TCPBytesAcked, "flow", sender); ok {
		bytes = n
	}
	vs := []result.Value{result.Goodput.Of(bytes * 8 / took.Seconds()), result.Bytes.Of(bytes)}
	if limit := t.rig.lineLimit(t.step); limit > 0 {
		vs = append(vs, result.LineLimit.Of(limit))
	}
	const gib = 1 << 30
	if s, ok := result.Sum(d, result.ProcessCPU, "process", "server"); ok && bytes > 0 {
		vs = append(vs, result.CPUPerGiB.Of(s*gib/bytes))
	}
	frames, counted := result.Get(d, result.NICFrames)
	if onLine, ok := result.Get(d, result.NICBytes); counted && ok && frames > 0 {
		vs = append(vs, result.FrameSize.Of(onLine/frames))
	}
	segments, ok := result.Get(d, result.DataSegmentsOut, "flow", sender)
	if !counted && ok { // over loopback a segment is a frame
		frames, counted = segments, true
	}
	if counted {
		vs = append(vs, result.FrameRate.Of(frames/took.Seconds()))
	}
	out, ok1 := result.Get(d, result.SegmentsOut, "flow", receiver)
	withData, ok2 := result.Get(d, result.DataSegmentsOut, "flow", receiver)
	if acks := out - withData; ok1 && ok2 && acks > 0 {
		vs = append(vs, result.BytesPerACK.Of(bytes/acks))
	}
	return append(append(vs, cardFigures(d)...), t.evidence(d, sender, receiver)...)
}

// evidence is what the rules judge besides: the sender's view of the
// connection, the receiver's buffer and the CPU.
func (t *ladderTrial) evidence(d []result.Value, sender, receiver string) []result.Value {
	var vs []result.Value
	for _, m := range []result.Metric{result.TCPRTT, result.TCPMinRTT, result.TCPMSS, result.TCPCwnd, result.TCPSendBuffer, result.TCPBusy, result.TCPRwndLimited,
		result.TCPSndbufLimited, result.TCPRetransmits, result.DataSegmentsOut} {
		if v, ok := result.Get(d, m, "flow", sender); ok {
			vs = append(vs, m.Of(v))
		}
	}
	if w, ok := result.Get(d, result.TCPWindow, "flow", sender, "window", "send"); ok {
		vs = append(vs, result.TCPWindow.Of(w))
	}
	if b, ok := result.Get(d, result.TCPReceiveBuffer, "flow", receiver); ok {
		vs = append(vs, result.TCPReceiveBuffer.Of(b))
	}
	for _, v := range d {
		if v.Metric == result.ProcessCPU.Name || v.Metric == result.CPUSeconds.Name {
			vs = append(vs, v)
		}
	}
	return vs
}
