package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/linerate/linerate/result"
)

// work is how far something long has come.
type work struct {
	label       string
	done, total int64  // total 0: not known
	unit        string // "B" is shown scaled and as a rate of bits; others as they are
	note        string // after the figures
}

const (
	progressEvery  = 200 * time.Millisecond
	progressWindow = 3 * time.Second // over which the rate is taken
	progressWidth  = 80              // where the terminal doesn't tell its own
)

// showProgress keeps one line on the terminal with what read returns, until
// stop, which takes the line away. It is quiet where c.err isn't a terminal.
// read is called from another goroutine.
func showProgress(c cli, read func() work) (stop func()) {
	f, ok := c.err.(*os.File)
	if !ok || !isTerminal(f) {
		return func() {}
	}
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		line := progressLine{out: f, width: func() int {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
			return progressWidth
		}}
		t := time.NewTicker(progressEvery)
		defer t.Stop()
		for {
			select {
			case now := <-t.C:
				line.draw(now, read())
			case <-quit:
				line.clear()
				return
			}
		}
	}()
	return func() { close(quit); <-gone }
}

// besideProgress is a terminal for log lines while progress is shown: each
// takes the place of the progress line, which is drawn anew below it.
type besideProgress struct{ out io.Writer }

func (b besideProgress) Write(p []byte) (int, error) {
	_, err := fmt.Fprintf(b.out, "\r%-*s\n", progressWidth-1, strings.TrimRight(string(p), "\n"))
	return len(p), err
}

// progressLine draws over itself. It pads with blanks, since not every
// terminal of Windows knows how to erase.
type progressLine struct {
	out   io.Writer
	width func() int
	drawn int
	past  []sample
}

type sample struct {
	at   time.Time
	done int64
}

func (l *progressLine) draw(now time.Time, w work) {
	width := max(l.width()-1, 20)
	text := w.format(l.rate(now, w.done), width)
	n := len([]rune(text))
	pad := max(min(l.drawn, width)-n, 0) // what a wider terminal had is out of reach
	l.drawn = n
	fmt.Fprint(l.out, "\r"+text+strings.Repeat(" ", pad))
}

func (l *progressLine) clear() {
	if l.drawn > 0 {
		fmt.Fprint(l.out, "\r"+strings.Repeat(" ", l.drawn)+"\r")
	}
}

// rate returns the mean growth per second over the window.
func (l *progressLine) rate(now time.Time, done int64) float64 {
	l.past = append(l.past, sample{now, done})
	for len(l.past) > 2 && now.Sub(l.past[0].at) > progressWindow {
		l.past = l.past[1:]
	}
	if over := now.Sub(l.past[0].at); over > 0 {
		return float64(done-l.past[0].done) / over.Seconds()
	}
	return 0
}

// format makes the line: label, share, bar, amount, rate, time left; the label
// and the bar give way on narrow terminals.
func (w work) format(rate float64, width int) string {
	amount, speed := fmt.Sprintf("%d", w.done), fmt.Sprintf("%.3g %s/s", rate, w.unit)
	if w.total > 0 {
		amount += fmt.Sprintf("/%d", w.total)
	}
	amount += " " + w.unit
	if w.unit == "B" {
		amount, speed = result.FormatSize(float64(w.done)), result.FormatRate(8*rate)
		if w.total > 0 {
			amount += " of " + result.FormatSize(float64(w.total))
		}
	}
	figures, share := amount+"  "+speed, math.NaN()
	if w.total > 0 {
		share = min(float64(w.done)/float64(w.total), 1)
		figures = fmt.Sprintf("%3.0f %%  %s", 100*share, figures)
		if rate > 0 && w.done < w.total {
			left := time.Duration(float64(w.total-w.done) / rate * float64(time.Second))
			figures += "  " + min(left, 99*time.Hour).Round(time.Second).String() + " left"
		}
	}
	if w.note != "" {
		figures += "  " + w.note
	}
	label := []rune(w.label)
	if room := max(width-len([]rune(figures))-2, 0); len(label) > room {
		label = append(label[:max(room-1, 0)], '…')
	}
	text := string(label) + "  " + figures
	if room := width - len([]rune(text)) - 4; room >= 8 && !math.IsNaN(share) {
		bar := min(room, 30)
		full := int(share * float64(bar))
		text = string(label) + "  [" + strings.Repeat("=", full) + strings.Repeat(" ", bar-full) + "]  " + figures
	}
	if r := []rune(text); len(r) > width {
		text = string(r[:width])
	}
	return text
}
