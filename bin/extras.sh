# Sourced by environment.sh: what an extra (judge, asr, ray, sign) adds to an environment, and the judge's
# library, which is compiled once and kept.
# POSIX sh; Linux and macOS.

# An extra of an environment is the file extras/NAME in it: the digest of the lock it was made from,
# and for the judge what its library was compiled with. An environment that is made anew keeps them.

# The instruction set is named, so that no build takes what this one processor happens to have.
# Without pictures (LLAVA), which no call holds, it compiles in less time.
pinned_cmake_args() {
  case $(uname -m) in
    x86_64 | amd64)
      echo '-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON -DLLAVA_BUILD=OFF' ;;
    *) echo '-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF' ;;
  esac
}

# What the judge's library is compiled with: what bin/setup asks for, else what $venv has, else
# the pinned build.
wanted_cmake_args() {
  if [ -n "${cmake_args_asked:-}" ]; then
    printf '%s\n' "$cmake_args_asked"
  elif [ -f "$venv/extras/judge" ]; then
    sed -n 2p "$venv/extras/judge"
  else
    pinned_cmake_args
  fi
}

stamp_of_extra() {
  sha256_of "$root/lock/$1.txt"
  [ "$1" != judge ] || wanted_cmake_args
}

# Print the extras that $venv is to have: those asked for, and those it has.
wanted_extras() {
  {
    for extra in $extras_asked; do echo "$extra"; done
    [ ! -d "$venv/extras" ] || ls "$venv/extras"
  } | sort -u
}

has_its_extras() {
  for extra in $(wanted_extras); do
    [ "$(stamp_of_extra "$extra")" = "$(cat "$venv/extras/$extra" 2>/dev/null)" ] || return 1
  done
}

# pip of the environment $1, told to write its words to $2; a user's settings of where packages are
# fetched from stay theirs, those that send them elsewhere do not.
pip_of() {
  pip_python=$1
  pip_said=$2
  shift 2
  (
    unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_REQUIRE_VIRTUALENV PIP_DRY_RUN
    PIP_USER=0 exec "$pip_python" -I -m pip --no-input --disable-pip-version-check --retries 2 \
      "$@" >"$pip_said" 2>&1
  )
}

why_pip_failed() {
  if grep -E -i -q 'connection|network|name resolution|max retries|timed out|proxy' "$1"; then
    echo 'the package index cannot be reached; connect to a network, or set PIP_INDEX_URL to a mirror'
  else
    echo "pip says: $(grep -E '^ *ERROR|HASH' "$1" | head -n 3 | tr '\n' ' ')"
  fi
}

# Write the entries of a lock on standard output: all but that of the package $2, or (only) it alone.
entries() {
  awk -v name="$2" -v only="${3:-}" \
    '/^[^ ]/ { its = index($0, name "==") == 1 } its == (only != "")' "$root/lock/$1"
}

readonly compiled=llama-cpp-python

wheels_folder() {
  printf '%s\n' "${XDG_CACHE_HOME:-$HOME/.cache}/inquesto-core/wheels"
}

# Leave $wheel set to the judge's compiled library, or empty where it is still to be compiled.
# It serves any Python: the library is called through ctypes.
find_wheel() {
  kept=$(wheels_folder)/$(
    {
      entries judge.txt "$compiled" only
      wanted_cmake_args
      uname -sm
    } >"$scratch/key"
    sha256_of "$scratch/key" | cut -c 1-16
  )
  wheel=
  for file in "$kept"/*.whl; do
    [ ! -f "$file" ] || wheel=$file
  done
}

require_compiler() {
  for candidate in "${CXX:-c++}" g++ clang++; do
    # The word after a space is an option ("ccache g++").
    command -v "${candidate%% *}" >/dev/null 2>&1 && return
  done
  fail "no C++ compiler found, and the judge's library is compiled here; install one" \
    "(Debian, Ubuntu: apt install g++; macOS: xcode-select --install), or set CXX"
}

# Compile the judge's library with tools from a hashed lock, and keep it.
compile_wheel() {
  require_compiler
  python=$(find_python) || exit 5
  cmake_args=$(wanted_cmake_args)
  say "compiling the judge's library with $cmake_args" \
    "(once; about 7 minutes on two cores; kept in $(wheels_folder))"
  "${python#* }" -I -m venv "$scratch/tools" >"$scratch/venv" 2>&1 ||
    fail "Python ${python%% *} cannot make a virtual environment; install its venv module"
  pip_of "$scratch/tools/bin/python" "$scratch/said" install --quiet --only-binary :all: \
    --require-hashes --no-deps -r "$root/lock/judge-build.txt" ||
    fail "cannot install the packages of judge-build.txt: $(why_pip_failed "$scratch/said")"
  entries judge.txt "$compiled" only >"$scratch/source.txt"
  mkdir -p "$kept" || fail "cannot write in $(wheels_folder)"
  (
    CMAKE_ARGS=$cmake_args
    PATH=$scratch/tools/bin:$PATH # cmake and ninja
    export CMAKE_ARGS PATH
    # pip's own cache would give a wheel that was compiled with other arguments.
    pip_of "$scratch/tools/bin/python" "$kept/build.log" wheel --verbose --no-cache-dir \
      --no-binary "$compiled" --no-build-isolation --require-hashes --no-deps --wheel-dir "$scratch/wheel" \
      -r "$scratch/source.txt"
  ) || fail "the judge's library could not be compiled: $(why_compiling_failed "$kept/build.log")"
  # Whole or not at all: the name that is looked for comes last.
  for file in "$scratch"/wheel/*.whl; do
    cp "$file" "$kept/new-$$" && mv "$kept/new-$$" "$kept/${file##*/}" ||
      fail "cannot write in $(wheels_folder)"
  done
  find_wheel
}

why_compiling_failed() {
  told=$(grep -E -i -m 1 'error:|CMake Error|fatal error' "$1" | cut -c 1-200)
  [ -n "$told" ] || told=$(why_pip_failed "$1")
  printf '%s\n' "$told; all of it is in $1"
}

# What takes long and needs no lock on an environment.
prepare_extras() {
  case " $(wanted_extras | tr '\n' ' ')" in
    *' judge '*)
      find_wheel
      [ -n "$wheel" ] || compile_wheel
      ;;
  esac
}

# Add every wanted extra to the environment $1, which is $venv or becomes it.
install_extras() {
  for extra in $(wanted_extras); do
    stamp=$(stamp_of_extra "$extra")
    [ "$stamp" = "$(cat "$1/extras/$extra" 2>/dev/null)" ] && continue
    say "adding $extra to ${venv##*/} from lock/$extra.txt"
    mkdir -p "$1/extras" || fail "cannot write in $1"
    # Until it is there, what stands here is no lock's digest.
    printf 'unfinished\n%s\n' "$(printf '%s\n' "$stamp" | sed -n 2p)" >"$1/extras/$extra"
    entries "$extra.txt" "$compiled" >"$scratch/$extra.txt"
    pip_of "$1/bin/python" "$scratch/said" install --quiet --only-binary :all: --require-hashes \
      --no-deps -r "$scratch/$extra.txt" ||
      fail "cannot install the packages of $extra.txt: $(why_pip_failed "$scratch/said")"
    if [ "$extra" = judge ]; then
      pip_of "$1/bin/python" "$scratch/said" install --quiet --no-index --no-deps \
        --force-reinstall "$wheel" ||
        fail "cannot install ${wheel##*/}: $(why_pip_failed "$scratch/said")"
    fi
    printf '%s\n' "$stamp" >"$1/extras/$extra"
  done
}
