# Two commands matter: make run, make test. The rest serves those who change
# the code; CONTRIBUTING.md says when to use what.

GO      ?= go
PLATFORMS = linux/amd64 linux/arm64 linux/arm/7 linux/mipsle linux/ppc64 linux/riscv64 windows/amd64 darwin/arm64

.PHONY: run build test peers lint generate fresh unit race cross bench interop soak lab clean

run: build
	bin/linerate ladder --out bin/ladder.html

build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w" -o bin/linerate ./cmd/linerate

# Everything CI runs, cheapest first.
test: peers lint fresh cross unit

# The foreign programs that judge us.
peers:
	sh test/peers.sh

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "gofmt: run gofmt -w on these"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

generate:
	$(GO) generate ./...

# What is generated and committed is what the source generates.
fresh:
	sh test/fresh.sh

# LINERATE_LAB=1: a test whose peer or right is missing fails and says so,
# instead of being skipped. One package at a time: the laboratory's links share
# the cores with what runs beside them.
unit:
	LINERATE_LAB=1 $(GO) test -p 1 -timeout 20m ./...

race:
	LINERATE_LAB=1 $(GO) test -race -p 1 -timeout 30m ./...

cross:
	@set -e; for p in $(PLATFORMS); do \
		os=$${p%%/*}; rest=$${p#*/}; arch=$${rest%%/*}; arm=; case $$rest in */*) arm=$${rest#*/};; esac; \
		echo "build $$p"; CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch GOARM=$$arm $(GO) build -trimpath -ldflags "-s -w" -o bin/cross/linerate-$$os-$$arch ./cmd/linerate; \
	done
	@size=$$(wc -c < bin/cross/linerate-linux-arm); echo "linux/arm v7: $$size bytes"; test $$size -le 20000000

# rclone's own suite against our FTP server; the first run fetches its modules.
interop:
	sh test/interop.sh

# Our stream servers under hostile clients, an hour each, side by side.
SOAK ?= 1h
soak:
	LINERATE_LAB=1 LINERATE_SOAK=$(SOAK) $(GO) test -p 2 -count 1 -v -timeout 0 -run '^TestSoak$$' ./internal/workload/stream/iperf3 ./internal/workload/stream/netperf

# What needs another kernel, in a QEMU guest; the first run fetches that kernel.
lab:
	sh test/lab.sh
	sh test/lab-nic.sh

bench:
	sh test/bench.sh

clean:
	rm -rf bin
