module github.com/linerate/linerate/test/ftpserverlib

go 1.26

require (
	github.com/fclairamb/ftpserverlib v0.32.0
	github.com/spf13/afero v1.15.0
)

require (
	golang.org/x/sys v0.45.0 // indirect
	golang.org/x/text v0.28.0 // indirect
)
