# Sourced by the scripts beside it, with $root set to the project's top folder.
# Makes a virtual environment from a hashed lock the first time, and finds it made ever after.
# POSIX sh; Linux and macOS.

. "$root/bin/extras.sh"

readonly oldest_python=3.11
# A build that has held the lock for longer than this many minutes is taken for dead.
readonly stale_minutes=30

say() { printf '%s\n' "inquesto-core: $*" >&2; }

fail() {
  say "$*"
  exit 5
}

sha256_of() {
  if command -v sha256sum >/dev/null 2>&1; then set -- "$(sha256sum <"$1")"
  elif command -v openssl >/dev/null 2>&1; then set -- "$(openssl dgst -sha256 -r <"$1")"
  else set -- "$(shasum -a 256 <"$1")"
  fi
  printf '%s\n' "${1%% *}"
}

# Print "3.12 /path/of/the/interpreter" if $1 is a Python that is new enough.
# The path has its links resolved, so that a venv made from it dangles, and is made anew, once
# that version is gone.
describe_python() {
  "$1" -I -c '
import os, sys
if sys.version_info < (3, 11):
    sys.exit(1)
base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
print("%d.%d" % sys.version_info[:2], base)' 2>/dev/null
}

find_python() {
  if [ -n "${INQUESTO_PYTHON:-}" ]; then
    describe_python "$INQUESTO_PYTHON" ||
      fail "INQUESTO_PYTHON is $INQUESTO_PYTHON, which is no Python >= $oldest_python; set it to one, or unset it"
    return
  fi
  # A name on the PATH may be a version manager's shim without that version: running it tells.
  for candidate in python3.13 python3.12 python3.11 python3; do
    command -v "$candidate" >/dev/null 2>&1 && describe_python "$candidate" && return
  done
  fail "no Python >= $oldest_python found (tried python3.13, python3.12, python3.11, python3);" \
    "install one, or set INQUESTO_PYTHON to its path"
}

# True if $venv was completely made from $lock, on this system, with a Python that is still there.
has_its_base() {
  [ -f "$venv/stamp" ] && [ -x "$venv/bin/python" ] || return 1
  { read -r made_from && read -r made_on && read -r made_with; } <"$venv/stamp" || return 1
  [ "$made_from" = "$lock_digest" ] && [ "$made_on" = "$system" ] || return 1
  [ -z "${INQUESTO_PYTHON:-}" ] && return 0
  asked=$(find_python) || exit 5
  [ "$made_with" = "${asked%% *}" ]
}

is_current() {
  has_its_base && has_its_extras
}

# True if the build that holds $busy is over without having let go of it.
is_abandoned() {
  [ -n "$(find "$busy" -prune -mmin +"$stale_minutes" 2>/dev/null)" ] && return 0
  # The owner is written right after the folder is made; until then only age can tell.
  read -r owner_host owner_pid 2>/dev/null <"$busy/owner" || return 1
  [ "$owner_host" = "$(uname -n)" ] || return 1
  ! kill -0 "$owner_pid" 2>/dev/null && ! ps -p "$owner_pid" >/dev/null 2>&1
}

# Renaming is atomic: of two that find the same abandoned build, one removes it.
remove_abandoned() {
  mv "$busy" "$venv-stale-$$" 2>/dev/null && rm -rf "$venv-stale-$$"
}

release() {
  [ -z "$holds_busy" ] || rm -rf "$busy"
  holds_busy=
}

# Leave nothing behind, however this ends.
clean_up() {
  trap - EXIT HUP INT TERM
  release
  [ -z "$scratch" ] || rm -rf "$scratch"
}

install_packages() {
  pip_of "$build/bin/python" "$busy/pip" install --quiet --only-binary :all: --require-hashes \
    --no-deps -r "$lock" ||
    fail "cannot install the packages of ${lock##*/}: $(why_pip_failed "$busy/pip")"
}

# Make the whole environment inside $busy, then move it into place in one step.
make_environment() {
  python=$(find_python) || exit 5
  version=${python%% *}
  build=$busy/build
  why='first run'
  if [ -e "$venv" ]; then
    why='its lock or Python changed'
    [ -f "$venv/stamp" ] || fail "$venv was not made by this command; move it away, and it is made"
  fi
  say "$why: making ${venv##*/} with Python $version from lock/${lock##*/} (once; about a minute)"
  "${python#* }" -I -m venv "$build" >"$busy/venv" 2>&1 ||
    fail "Python $version (${python#* }) cannot make a virtual environment; install its venv module" \
      "(Debian, Ubuntu: apt install python$version-venv), or set INQUESTO_PYTHON to another Python"
  install_packages
  install_extras "$build"
  printf '%s\n' "$lock_digest" "$system" "$version" >"$build/stamp"
  # os.rename refuses a target that came into being meanwhile, where mv would move into it.
  "${python#* }" -I -c '
import os, sys
build, venv, old = sys.argv[1:]
if os.path.lexists(venv):
    os.rename(venv, old)
os.rename(build, venv)' "$build" "$venv" "$busy/old" 2>"$busy/rename" ||
    is_current || fail "cannot put ${venv##*/} in place: $(tail -n 1 "$busy/rename")"
}

# environment NAME LOCK [EXTRA...]: leave $venv_python set to the interpreter of the environment
# NAME, made from LOCK if it is not there yet, with these extras and those that it had before.
environment() {
  venv=$root/$1
  lock=$root/$2
  shift 2
  extras_asked=$*
  busy=$venv-lock
  # A venv refuses such a path, and PYTHONPATH would be cut in two.
  case $root in *:*) fail "the path of the project has a ':' in it ($root); move it elsewhere" ;; esac
  unset PYTHONHOME PYTHONEXECUTABLE __PYVENV_LAUNCHER__
  lock_digest=$(sha256_of "$lock")
  system=$(uname -sm)
  is_current || make_current
  venv_python=$venv/bin/python
  PYTHONPATH=$root
  export PYTHONPATH
}

make_current() {
  holds_busy=
  scratch=$(mktemp -d) || exit 5
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  prepare_extras
  waiting=
  until is_current; do
    if mkdir "$busy" 2>/dev/null; then
      holds_busy=yes
      printf '%s %s\n' "$(uname -n)" "$$" >"$busy/owner"
      has_its_base || make_environment
      install_extras "$venv"
      release
    elif [ ! -d "$busy" ]; then
      [ -w "$root" ] || fail "cannot write in $root, where ${venv##*/} is to be made"
    elif is_abandoned; then
      remove_abandoned
    else
      [ -n "$waiting" ] || say "another run is making ${venv##*/}; waiting for it"
      waiting=yes
      sleep 1
    fi
  done
  clean_up
}
