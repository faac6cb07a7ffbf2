// Package model predicts what an endpoint can do: limits of the line, closed
// forms of interrupt pacing, and a closed queueing network of what each packet
// costs. A board's profile says how well that fitted what was measured on it,
// and the model promises no more.
package model

import "math"

// Station is a server that each circulating packet visits once: a CPU, the
// wire, a serial step of a DMA or timer.
type Station struct {
	Name   string
	Demand float64 // seconds per packet
}

// Network is a closed network: the window's packets circulate between the
// stations and a delay at which nobody queues.
type Network struct {
	Stations []Station
	Delay    float64 // seconds
}

// Solution of a Network.
type Solution struct {
	Rate        float64   // packets per second
	Utilization []float64 // of each station, 0 to 1
}

// Solve returns the exact mean value analysis for n circulating packets
// (Reiser and Lavenberg 1980). Between whole numbers it interpolates, for a
// window is seldom a whole number of segments.
func (n Network) Solve(packets float64) Solution {
	whole := math.Floor(packets)
	rate := n.rate(int(whole))
	if part := packets - whole; part > 0 {
		rate += part * (n.rate(int(whole)+1) - rate)
	}
	s := Solution{Rate: rate}
	for _, st := range n.Stations {
		s.Utilization = append(s.Utilization, rate*st.Demand)
	}
	return s
}

func (n Network) rate(packets int) float64 {
	queue := make([]float64, len(n.Stations))
	rate := 0.0
	for p := 1; p <= packets; p++ {
		cycle := n.Delay
		stay := make([]float64, len(queue))
		for i, st := range n.Stations {
			// An arriving packet sees the queue of a network with one less.
			stay[i] = st.Demand * (1 + queue[i])
			cycle += stay[i]
		}
		rate = float64(p) / cycle
		for i := range queue {
			queue[i] = rate * stay[i]
		}
	}
	return rate
}
