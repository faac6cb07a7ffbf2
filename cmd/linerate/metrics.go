package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/linerate/linerate/internal/report"
	measure "github.com/linerate/linerate/internal/run"
	"github.com/linerate/linerate/result"
)

// metricsHandler shows what meters read in the Prometheus text format.
type metricsHandler struct{ meters []measure.Meter }

func (h metricsHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var vs []result.Value
	for _, m := range h.meters {
		v, err := m.Read(r.Context())
		if err != nil {
			http.Error(w, fmt.Sprintf("%s: %v", m.Name(), err), http.StatusInternalServerError)
			return
		}
		vs = append(vs, v...)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = report.Exposition(w, vs) // the scraper is gone when this fails
}

// listenMetrics serves /metrics, and the pages given, on address until the
// listener is closed.
func listenMetrics(address string, pages map[string]http.Handler, meters ...measure.Meter) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metricsHandler{meters})
	for path, page := range pages {
		mux.Handle("GET "+path, page)
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	go srv.Serve(l) // returns when l is closed
	return l, nil
}
