package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/linerate/linerate/internal/serve/ftp/users"
)

func newServeFTPPasswd(c cli) *cobra.Command {
	return &cobra.Command{
		Use:   "passwd USER [OPTIONS]",
		Short: "Write a line of a users file",
		Long: `passwd asks for a password (or reads a line of standard input) and writes a line for
the users file, with an argon2id hash. Lines of 'htpasswd -B' work as well. OPTIONS:
  root=DIR       the directory the user sees as /
  read-only      nothing may be changed
  quota=10GB     most bytes below root
  rate=100MB/s   of all the user's transfers together
  sessions=4     at a time`,
		Example: `  linerate serve ftp passwd alice root=/srv/alice,quota=10GB >> users`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return usagef("%s wants USER and perhaps OPTIONS; see '%s --help'", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			password, err := readPassword(c)
			if err != nil {
				return err
			}
			line, err := users.Line(args[0], users.Hash(password), strings.Join(args[1:], ""))
			if err != nil {
				return usagef("%v", err)
			}
			_, err = fmt.Fprintln(c.out, line)
			return err
		},
	}
}

// readPassword asks twice on a terminal, and reads a line from anything else.
func readPassword(c cli) (string, error) {
	f, ok := c.in.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(c.in, 4096)).ReadString('\n')
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			return "", fmt.Errorf("read the password from standard input: %w", errors.Join(errors.New("it is empty"), err))
		}
		return line, nil
	}
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Again: "} {
		fmt.Fprint(c.err, prompt)
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(c.err)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		typed[i] = string(b)
	}
	if typed[0] == "" || typed[0] != typed[1] {
		return "", errors.New("the passwords are empty or differ")
	}
	return typed[0], nil
}
