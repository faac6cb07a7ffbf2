package plot

import _ "embed" // the style sheet and the script below

//go:embed style.css
var style string

//go:embed zoom.js
var script string

// Style is the style sheet that drawings rely on: colours for light and dark,
// type and line widths.
func Style() string { return style }

// Script makes every drawing of a Plot with Zoom respond to dragging. Drawings
// are complete without it.
func Script() string { return script }
