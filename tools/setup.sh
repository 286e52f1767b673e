# tools/setup.sh - what quickstart, runtests and .ci/run share; sourced, not run.
# Functions: dt_need PACKAGE..., dt_build SOURCE BUILD [configure option...].

DT_BUILD_PACKAGES="gcc make autoconf automake libtool pkg-config libzmq3-dev libprotobuf-c-dev
    protobuf-c-compiler libsqlite3-dev libyaml-dev libsodium-dev libxxhash-dev libzstd-dev
    libjansson-dev libsmartcols-dev"
DT_TEST_PACKAGES="check python3 scdoc mandoc valgrind xz-utils procps"
DT_FUZZ_PACKAGES="clang libclang-rt-dev"

dt_die ()
{
    echo "$0: $*" >&2
    exit 10
}

# Install the packages that are missing: as root, or with sudo; else say how.
dt_need ()
{
    missing=
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' \
            || missing="$missing $package"
    done
    [ -z "$missing" ] && return 0
    command -v apt-get >/dev/null \
        || dt_die "needs these packages, and there is no apt-get to install them:$missing"
    install="apt-get update -qq && apt-get install -y --no-install-recommends$missing"
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root=sudo
    else
        echo "$0: some packages are missing; run this as root, then $0 again:" >&2
        echo "    $install" >&2
        exit 9
    fi
    echo "installing$missing"
    {
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq \
            && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
                --no-install-recommends $missing
    } >"${DT_LOG:-/dev/null}" 2>&1 || dt_die "apt-get failed${DT_LOG:+; see $DT_LOG}: $install"
}

# Build SOURCE in BUILD, out of tree; output goes to BUILD/build.log.
dt_build ()
{
    source=$1 build=$2
    shift 2
    mkdir -p "$build"
    log=$build/build.log
    {
        { [ -x "$source/configure" ] && [ "$source/configure" -nt "$source/configure.ac" ]; } \
            || "$source/autogen.sh"
        [ "$build/config.status" -nt "$source/configure" ] \
            || (cd "$build" && "$source/configure" "$@")
        make -C "$build" -j"$(nproc)" all
    } >"$log" 2>&1 || { tail -n 30 "$log" >&2; dt_die "the build failed; all of it is in $log"; }
}
