package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/linerate/linerate/result"
)

// watchModel is the live view: it reads at each tick and draws the interval
// between the latest two readings.
type watchModel struct {
	ctx     context.Context // of the readings; a tea.Model has no other way to get one
	watcher *watcher
	last    result.Reading
	view    interval
	history map[string][]float64
	paused  bool
	width   int
}

// tickMsg says that it is time for the next reading.
type tickMsg time.Time

func newWatchModel(ctx context.Context, w *watcher) *watchModel {
	return &watchModel{ctx: ctx, watcher: w, last: w.read(ctx), history: map[string][]float64{}}
}

func (m *watchModel) Init() tea.Cmd { return m.tick() }

func (m *watchModel) tick() tea.Cmd {
	return tea.Tick(m.watcher.every, func(t time.Time) tea.Msg { return tickMsg(t) })
}

func (m *watchModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width = msg.Width
	case tea.KeyPressMsg:
		switch msg.String() {
		case "q", "esc", "ctrl+c":
			return m, tea.Quit
		case "space", "p":
			m.paused = !m.paused
		}
	case tickMsg:
		m.advance()
		return m, m.tick()
	}
	return m, nil
}

// advance takes a reading; while paused the view stands still and the history
// goes on.
func (m *watchModel) advance() {
	now := m.watcher.read(m.ctx)
	v := newInterval(m.last, now)
	m.last = now
	for _, l := range v.links {
		key := l.name + l.direction
		h := append(m.history[key], l.bits)
		m.history[key] = h[max(0, len(h)-historyWidth):]
	}
	if !m.paused {
		m.view = v
	}
}

func (m *watchModel) View() tea.View {
	state := ""
	if m.paused {
		state = " · paused"
	}
	head := fmt.Sprintf("linerate watch · %s · every %s%s", m.watcher.title, m.watcher.every, state)
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n\n", lipgloss.NewStyle().Reverse(true).Render(" "+head+" "))
	if m.view.links == nil {
		fmt.Fprintln(&out, "reading ...")
	} else {
		out.WriteString(m.view.render(m.watcher, m.history))
	}
	for _, g := range m.watcher.gaps {
		fmt.Fprintf(&out, "%s cannot be read: %s\n", g.Source, g.Reason)
	}
	fmt.Fprint(&out, "\nq quit · space pause")
	text := out.String()
	if m.width > 0 {
		text = lipgloss.NewStyle().MaxWidth(m.width).Render(text)
	}
	v := tea.NewView(text)
	v.AltScreen = true
	v.WindowTitle = "linerate watch"
	return v
}
