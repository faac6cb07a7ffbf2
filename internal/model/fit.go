package model

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Point is one message size of a sweep.
type Point struct {
	Path    string
	MTU     int
	Message float64 // bytes
	Goodput float64 // bit/s
	CPU     float64 // processor seconds per message, 0 where unknown
	AtLine  bool    // the line's limit, which says nothing of costs
}

// Promise is the greatest error of predictions between the points of a fit, and
// Fitted that of the fit at nine of ten points, which leaves room for noise.
// Great sizes that a fit does not explain so well are left out, and refused.
const (
	Promise = 0.15
	Fitted  = 0.10
)

// fewest points of a path that a fit is made of; it has three unknowns.
const fewest = 5

// ErrFit is wrapped where points make no profile.
var ErrFit = errors.New("too few points for a fit")

// FitPaths returns b with the paths that its settings and the points make. A
// path whose great messages the line does not reach is fitted up to where it does.
func FitPaths(b Board, points []Point) (Board, error) {
	b.Paths = nil
	for _, name := range paths(points) {
		own := slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Path != name })
		slices.SortFunc(own, func(p, q Point) int { return int(p.Message - q.Message) })
		path := Path{Name: name}
		for _, p := range own {
			path.Anchors = append(path.Anchors, Anchor{What: fmt.Sprintf("%.0f bytes, MTU %d", p.Message, p.MTU),
				Set: map[string]float64{"message": p.Message, "mtu": float64(p.MTU)}, Goodput: p.Goodput})
		}
		if err := path.fit(b.Settings, slices.DeleteFunc(own, func(p Point) bool { return p.AtLine })); err != nil {
			return b, err
		}
		b.Paths = append(b.Paths, path)
	}
	if len(b.Paths) == 0 {
		return b, fmt.Errorf("model: no point at all: %w", ErrFit)
	}
	return b, nil
}

func paths(points []Point) []string {
	var names []string
	for _, p := range points {
		if !slices.Contains(names, p.Path) {
			names = append(names, p.Path)
		}
	}
	slices.Sort(names)
	return names
}

// fit finds the costs of points in order of size.
func (path *Path) fit(s Settings, points []Point) error {
	for n := len(points); ; n-- {
		if n < fewest {
			return fmt.Errorf("model: %s: %d points that a line fits within %.0f %%, want %d: %w", path.Name, max(n, 0), 100*Fitted, fewest, ErrFit)
		}
		rows, times := rows(s, points[:n], func(p Point) float64 { return p.Message * 8 / p.Goodput })
		l := solve(rows, times)
		if e, beyond := worst(l, rows, times); e <= Promise && beyond*10 <= len(rows) {
			path.Message, path.Error, path.UpTo = &l, round(e), below(points[:n])
			rows, times = rowsOfCPU(s, points[:n])
			if len(rows) >= fewest {
				l := solve(rows, times)
				path.CPU = &l
			}
			return nil
		}
	}
}

// below returns the greatest size but one: nothing beyond the greatest says
// whether the costs hold there.
func below(points []Point) float64 {
	last := points[len(points)-1].Message
	for i := len(points) - 1; i >= 0; i-- {
		if points[i].Message < last {
			return points[i].Message
		}
	}
	return last
}

func rowsOfCPU(s Settings, points []Point) ([]row, []float64) {
	known := slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.CPU <= 0 })
	return rows(s, known, func(p Point) float64 { return p.CPU })
}

// row is what the coefficients of a Line are multiplied by.
type row [3]float64

func rows(s Settings, points []Point, time func(Point) float64) (rs []row, ts []float64) {
	for _, p := range points {
		s.MTU, s.Message = p.MTU, p.Message
		rs, ts = append(rs, row{1, p.Message, s.segments()}), append(ts, time(p))
	}
	return rs, ts
}

func (r row) at(l Line) float64 { return l.A*r[0] + l.B*r[1] + l.C*r[2] }

// worst returns the greatest residual, as a share of time or of goodput, and how
// many are beyond Fitted.
func worst(l Line, rows []row, times []float64) (e float64, beyond int) {
	for i, r := range rows {
		share := r.at(l) / times[i]
		off := max(math.Abs(share-1), math.Abs(1/share-1))
		if e = max(e, off); off > Fitted {
			beyond++
		}
	}
	return e, beyond
}

// round keeps three digits, and rounds up.
func round(x float64) float64 { return math.Ceil(x*1000) / 1000 }

// solve returns the line with the least squares of relative errors whose costs
// are not below 0: of the best ones with some of them left out, the best.
func solve(rows []row, times []float64) Line {
	best, least := Line{}, math.Inf(1)
	for used := 1; used < 8; used++ {
		x, ok := squares(rows, times, used)
		if !ok || x[0] < 0 || x[1] < 0 || x[2] < 0 {
			continue
		}
		l, sum := Line{x[0], x[1], x[2]}, 0.0
		for i, r := range rows {
			e := r.at(l)/times[i] - 1
			sum += e * e
		}
		if sum < least*(1-1e-9) { // between equals the one with fewer costs
			best, least = l, sum
		}
	}
	return best
}

// squares solves the normal equations for the costs whose bits are set in used.
func squares(rows []row, times []float64, used int) (x row, ok bool) {
	var m [3][4]float64
	for i := range m {
		if used>>i&1 == 0 {
			m[i][i] = 1
			continue
		}
		for k, r := range rows {
			t := times[k]
			for j := range 3 {
				if used>>j&1 == 1 {
					m[i][j] += r[i] / t * r[j] / t
				}
			}
			m[i][3] += r[i] / t
		}
	}
	for i := range m { // positive definite: no pivoting
		d := m[i][i]
		if d <= 0 || math.IsNaN(d) {
			return x, false
		}
		for k := i + 1; k < 3; k++ {
			f := m[k][i] / d
			was := m[k][k]
			for j := i; j < 4; j++ {
				m[k][j] -= f * m[i][j]
			}
			if m[k][k] <= 1e-9*was {
				return x, false // it can't be told from the others
			}
		}
	}
	for i := 2; i >= 0; i-- {
		x[i] = m[i][3]
		for j := i + 1; j < 3; j++ {
			x[i] -= m[i][j] * x[j]
		}
		x[i] /= m[i][i]
	}
	return x, true
}
