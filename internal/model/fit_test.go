package model

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/linerate/linerate/result"
)

// made returns points of known costs, each off by up to noise in turn.
func made(l Line, mtu int, noise float64, sizes ...float64) (points []Point) {
	for i, m := range sizes {
		s := Settings{MTU: mtu, Message: m, NoDelay: true, Timestamps: true}
		off := 1 + noise*float64(i%3-1)
		points = append(points, Point{Path: "tx", MTU: mtu, Message: m, Goodput: m * 8 / (l.At(m, s.segments()) * off)})
	}
	return points
}

// A fit finds the costs that the points were made of.
func TestFitFindsTheCosts(t *testing.T) {
	b := Board{Settings: Settings{MTU: 1500, Message: 1448, Window: 1 << 20, NoDelay: true, Timestamps: true}}
	for _, want := range []Line{{4e-6, 0.2e-9, 0.6e-6}, {17e-6, 4e-9, 0}, {0, 1e-9, 2e-6}, {40e-6, 0, 0}} {
		points := append(made(want, 1500, 0.01, 64, 256, 1024, 4096, 16384, 32768), made(want, 576, 0.01, 64, 256, 1024, 4096, 16384, 32768)...)
		got, err := FitPaths(b, points)
		if err != nil {
			t.Fatal(err)
		}
		p := got.Paths[0]
		if p.Error > 0.02 || p.UpTo != 16384 || len(p.Anchors) != 12 {
			t.Errorf("%+v: error %v up to %v, %d anchors", want, p.Error, p.UpTo, len(p.Anchors))
		}
		for _, m := range []float64{100, 3000, 12000} {
			for _, mtu := range []int{1040, 1500} {
				pr, err := Predict(got, p, map[string]float64{"message": m, "mtu": float64(mtu)})
				truth := made(want, mtu, 0, m)[0].Goodput
				if err != nil || math.Abs(pr.Goodput/truth-1) > 0.02 {
					t.Errorf("%+v: %.0f bytes at MTU %d: %.4g, want %.4g, %v", want, m, mtu, pr.Goodput, truth, err)
				}
			}
		}
		var file bytes.Buffer
		if err := Encode(&file, got); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(&file)
		if err != nil || *again.Paths[0].Message != *p.Message || again.Settings != got.Settings {
			t.Errorf("as a file: %+v, %v", again, err)
		}
	}
}

// Sizes that the costs don't explain are left out, and refused; too few that
// they do make no profile.
func TestFitPromisesNoMore(t *testing.T) {
	l := Line{4e-6, 0.2e-9, 0.6e-6}
	b := Board{Settings: Settings{MTU: 1500, Message: 1448, NoDelay: true, Timestamps: true}}
	points := made(l, 1500, 0.01, 64, 128, 256, 512, 1024, 2048, 4096, 65536)
	points[7].Goodput /= 3
	got, err := FitPaths(b, points)
	if err != nil || got.Paths[0].UpTo != 2048 || got.Paths[0].Error > 0.03 {
		t.Fatalf("%+v, %v", got.Paths, err)
	}
	if _, err := Predict(got, got.Paths[0], map[string]float64{"message": 65536}); !errors.Is(err, ErrNotExplained) {
		t.Errorf("beyond the fit: %v", err)
	}
	if _, err := FitPaths(b, points[:3]); !errors.Is(err, ErrFit) {
		t.Errorf("three points: %v", err)
	}
	if _, err := FitPaths(b, nil); !errors.Is(err, ErrFit) {
		t.Errorf("none: %v", err)
	}
	for i := range points {
		points[i].Goodput *= float64(1 + i%2*2)
	}
	if got, err := FitPaths(b, points); !errors.Is(err, ErrFit) {
		t.Errorf("points that no costs explain: %+v, %v", got.Paths, err)
	}
}

// recorded reads a sweep that was measured on a virtual machine with two cores,
// over a virtual cable without offloads, one end a core; only what a fit reads
// was kept.
func recorded(t *testing.T, name string) *result.Result {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Decode(z)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A profile of two recorded sweeps predicts two others, of other sizes and
// another MTU, within 15 %.
func TestFitPredictsOtherSweeps(t *testing.T) {
	var b Board
	var all []Point
	for _, name := range []string{"sweep-1500", "sweep-576"} {
		points, s, err := Points(recorded(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, points...); b.Settings.MTU < s.MTU {
			b.Settings = s
		}
	}
	b, err := FitPaths(b, all)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range []string{"other-1500", "other-1040"} {
		points, _, err := Points(recorded(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, pt := range points {
			for _, p := range b.Paths {
				if p.Name != pt.Path {
					continue
				}
				pr, err := Predict(b, p, map[string]float64{"message": pt.Message, "mtu": float64(pt.MTU)})
				if pt.Message > p.UpTo {
					if !errors.Is(err, ErrNotExplained) {
						t.Errorf("%s %s %.0f bytes: beyond the fit, yet %+v, %v", name, p.Name, pt.Message, pr, err)
					}
					continue
				}
				if n++; err != nil || math.Abs(pr.Goodput/pt.Goodput-1) > 0.15 {
					t.Errorf("%s %s %.0f bytes: predicted %.4g, measured %.4g, %v", name, p.Name, pt.Message, pr.Goodput, pt.Goodput, err)
				}
			}
		}
	}
	if n < 28 {
		t.Errorf("%d of 36 points compared, want at least 28", n)
	}
}

func TestPointsRefuse(t *testing.T) {
	for _, params := range []map[string]string{{"parallel": "4"}, {"rate": "1 Gbit/s"}, {"window": "65536"}, nil} {
		if _, _, err := Points(&result.Result{Workload: result.Workload{Kind: "tcp_stream", Params: params}}); err == nil {
			t.Errorf("%v: a fit was begun", params)
		}
	}
}
