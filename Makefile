# SPDX-License-Identifier: GPL-2.0-or-later
#
#   make            build what is configured (the full shape if nothing is)
#   make lean       the small QEMU that make run and make check use
#   make full       QEMU with everything it finds; what make install installs
#   make asan       a QEMU with sanitizers for our qtests, and these
#   make bpf        HostVLAN's programs for interfaces of the host
#   make ha         vmmnet-ha, the home agent: build/programs/ha
#   make dns        the DNS server, its tools and the client library:
#                   build/programs/dnsd
#   make hostd      vmmnet-hostd, the root helper: build/programs/hostd
#   make policy     what 'vmmnet policy' asks: build/programs/hw/vmrpc/policy-judge
#   make test       the unit tests of a room, without QEMU: ROOM=net/esp [TEST=esp-sa]
#   make lint       what tools find in the sources: Ruff, mypy, checkpatch, shellcheck, codespell
#   make guests     the guests' kernels, modules and system, fetched and built
#   make deps       install the Debian packages that are missing [SECTIONS=]
#   make run        boot a guest on vmmnet [RUN="options"] [DISK=image.qcow2] [MACHINE=microvm]
#   make run-migration   move a VM to another network; watch it keep its address
#   make run-dns    OpenSSH with our DNS library, where AAAA is lost or addresses are forged
#   make run-confine     a guest that may reach names only tries each known way out
#   make run-cvsw   two tenants on two hosts, in tunnels that their own NICs make
#   make check      all tests but tests/run --layers suites, which take an hour;
#                   make check-quick: those that take seconds
#   make bench      measure: BENCH=name, BENCH=all; without it, what there is
#   make install    [DESTDIR=], into ./configure's --prefix; make install-control:
#                   the command vmmnet alone, which needs no QEMU of ours;
#                   make install-ha: vmmnet-ha alone, with its systemd unit;
#                   make install-hostd: the same for vmmnet-hostd;
#                   make install-dns: the DNS server, vmmnet-zone, the client library
#   make deb        Debian packages, into build/deb; docs/packages.md. SUITE=trixie:
#                   in a root of that release, into build/deb-trixie; ARCH=arm64: for
#                   that architecture, in a root, too
#   make ... ARCH=arm64 with guests of another architecture than this system's: lean, full,
#                   guests, run; for programs of ours on that architecture: test, deb
#   make ... SERIES=10.2 with another series of QEMU than the default (qemu/series)
#   make clean      drop the builds; make distclean: and everything fetched
#
# run, check, bench and deb ask first whether this system can do it (qemu/ready), and install
# the packages they need.

PYTHON  ?= /usr/bin/python3
RUN     ?=
DISK    ?=
MACHINE ?=
BENCH   ?= vmrpc
DESTDIR ?=
SECTIONS ?=
SUITE   ?=
SERIES  ?=
ROOM    ?=
TEST    ?=
export PYTHON
# ccache without a run of the preprocessor before each compilation that it has not.
export CCACHE_DEPEND := 1
export PYTHONPATH := $(CURDIR)/control:$(CURDIR)$(if $(PYTHONPATH),:$(PYTHONPATH))

# The series of QEMU; another than the default has folders with its name.
OTHER := $(if $(SERIES),$(filter-out $(shell awk '!/^\#/ {print $$1; exit}' qemu/series),$(SERIES)))
# The guests' architecture, in Debian's words; another than the system's has folders with its name.
OWN_ARCH := $(if $(filter aarch64 arm64,$(shell uname -m 2>/dev/null)),arm64,amd64)
ARCH    ?= $(OWN_ARCH)
FOREIGN := $(filter-out $(OWN_ARCH),$(ARCH))
ifneq ($(filter-out amd64 arm64,$(ARCH)),)
$(error ARCH=$(ARCH) is no architecture that vmmnet has: amd64 or arm64)
endif
export VMMNET_ARCH := $(ARCH)
EMULATOR := qemu-system-$(if $(filter arm64,$(ARCH)),aarch64,x86_64)
TAIL := $(addprefix -,$(FOREIGN) $(OTHER))
TAIL := $(subst $() ,,$(TAIL))
FULL := build/qemu$(TAIL)
LEAN := build/qemu-lean$(TAIL)
ASAN := build/qemu-asan$(TAIL)
ifneq ($(OTHER),)
export VMMNET_QEMU ?= $(CURDIR)/$(LEAN)/$(EMULATOR)
endif
BPF  := control/vmmnet/hostvlan/bpf/hostvlan.bpf.o

configured := $(if $(wildcard $(FULL)/build.ninja),full) \
              $(if $(wildcard $(LEAN)/build.ninja),lean)

source := configure $(wildcard qemu/src$(addprefix -,$(OTHER))/.vmmnet/origin)
build = @qemu/weave $(OTHER) && $(PYTHON) qemu/build
install = meson configure build/programs --prefix=$$(control/install --print-prefix) && \
    meson install -C build/programs --no-rebuild --quiet \
        $(if $(DESTDIR),--destdir $(abspath $(DESTDIR)))

.DEFAULT_GOAL := all
.PHONY: all full lean asan bpf ha hostd dns policy test lint guests deps run run-migration run-cvsw \
        run-confine run-dns check check-quick bench install install-control install-ha install-hostd install-dns deb clean \
        distclean

all: $(or $(strip $(configured)),full)

full: $(FULL)/build.ninja
	$(build) $(FULL)

lean: $(LEAN)/build.ninja
	$(build) $(LEAN) $(EMULATOR) qemu-img qemu-nbd

asan: $(ASAN)/build.ninja
	$(build) $(ASAN) $(EMULATOR) vmmnet-qtests

bpf: $(BPF)

# Where vmmnet.hostvlan.bpf.twin looks for it; the same for all little-endian hosts.
$(BPF): $(addprefix net/hostvlan/,bpf/hostvlan.bpf.c bpf/twin.h dhcp.h forged.h group.h headers.h offers.h own.h) base/octets.h include/vmmnet/hostvlan.h
	@command -v clang >/dev/null || \
	    { echo "clang is not installed: run 'make deps' or install the package clang." >&2; exit 1; }
	@clang -target bpf -mcpu=v3 -O2 -g -ffreestanding -Wall -Wextra -Werror \
	    -Wno-unused-parameter -I. -Iinclude -I/usr/include/$(shell $(CC) -print-multiarch) \
	    -c $< -o $@.part
	@mv $@.part $@

# Programs that need nothing of QEMU.
build/programs/build.ninja: ; @meson setup build/programs -Dtests=false >/dev/null

ha hostd dns policy: build/programs/build.ninja ; @ninja -C build/programs programs-$@

ifneq (,$(FOREIGN))
test:
	@qemu/ready $@
	@qemu/deps build run cross
	@$(MAKE) --no-print-directory lean
	@$(PYTHON) -m lab.cross $(addprefix --room ,$(ROOM)) $(TEST)
else
test: build/unit/build.ninja
	@rooms=$$(meson test -C build/unit --list 2>/dev/null | \
	    sed -n 's,^vmmnet:\(.*\) / .*,\1,p' | sort -u); \
	for room in $(ROOM); do \
	    echo "$$rooms" | grep -qx "$$room" || \
	        { echo "'$$room' is no room with unit tests; these are:" $$rooms >&2; exit 1; }; \
	done
	@meson test -C build/unit --print-errorlogs $(addprefix --suite ,$(ROOM)) $(TEST)
endif

# What a sanitizer's report and a core dump need are the line numbers of -g1.  It
# and -O1 are compiled in less than half the time of -g and -O2.
build/unit/build.ninja:
	@meson setup build/unit -Dprograms=[] -Db_sanitize=address,undefined \
	    -Db_lundef=false -Ddebug=false -Doptimization=1 -Dc_args=-g1 >/dev/null

lint:
	@test -e qemu/src/scripts/checkpatch.pl || qemu/fetch
	@tests/run --layers lint

guests: ; @qemu/ready $@ $(if $(FOREIGN),&& qemu/deps cross) && $(PYTHON) -m lab.guest.image

$(FULL)/build.ninja: $(source) ; @./configure --reuse $(addprefix --arch=,$(FOREIGN)) $(addprefix --series=,$(OTHER))
$(LEAN)/build.ninja: $(source) ; @./configure --lean --reuse $(addprefix --arch=,$(FOREIGN)) $(addprefix --series=,$(OTHER))
$(ASAN)/build.ninja: $(source) ; @./configure --sanitize --reuse $(addprefix --arch=,$(FOREIGN)) $(addprefix --series=,$(OTHER))

deps: ; @qemu/ready $@ && qemu/deps $(SECTIONS)

run:
	@qemu/ready $@
	@qemu/deps build run $(if $(FOREIGN),cross)
	@$(MAKE) --no-print-directory lean
	@$(PYTHON) -m lab.run $(if $(DISK),--disk "$(DISK)") $(if $(MACHINE),--machine "$(MACHINE)") $(RUN)

run-migration:
	@qemu/ready $@
	@qemu/deps build run
	@$(MAKE) --no-print-directory lean
	@$(PYTHON) -m lab.run_migration $(RUN)

run-cvsw:
	@qemu/ready $@
	@qemu/deps build run cvsw
	@$(MAKE) --no-print-directory lean
	@$(PYTHON) -m lab.run_cvsw $(RUN)

run-confine:
	@qemu/ready $@
	@qemu/deps build run confine
	@$(MAKE) --no-print-directory lean policy
	@$(PYTHON) -m lab.run_confine $(RUN)

run-dns:
	@qemu/ready $@
	@qemu/deps build run dns
	@$(MAKE) --no-print-directory dns
	@$(PYTHON) -m lab.run_dns $(RUN)

check:
	@qemu/ready $@
	@qemu/deps build
	@tests/run --build

check-quick:
	@qemu/ready $@
	@qemu/deps build run test
	@$(MAKE) --no-print-directory lean
	@tests/run --quick

bench:
	@qemu/ready $@
	@qemu/deps build run bench
	@$(MAKE) --no-print-directory lean bpf
	@bench/run $(BENCH)

install: full install-control install-ha install-hostd install-dns
	@DESTDIR=$(abspath $(DESTDIR)) $(PYTHON) qemu/build $(FULL) install
	@$(if $(DESTDIR),,$(PYTHON) -m vmmnet.libvirt.check.place \
	    "$$(control/install --print-prefix)/bin/$(EMULATOR)")

install-control: $(BPF) policy
	@DESTDIR=$(abspath $(DESTDIR)) control/install
	@$(install) --tags policy

install-ha: ha
	@$(install) --tags ha

install-hostd: hostd
	@$(install) --tags hostd

install-dns: dns
	@$(install) --tags dns,devel

deb:
	@qemu/ready $@
ifeq (,$(SUITE)$(FOREIGN))
	@qemu/deps build full deb
	@debian/make-packages
else
	@qemu/deps build run
	@$(PYTHON) -m lab.packages.elsewhere $(if $(SUITE),"$(SUITE)")
endif

clean: ; rm -rf $(FULL) $(LEAN) $(ASAN) $(BPF)

distclean: clean ; rm -rf build qemu/src qemu/src-*
