# Words for jobs in the test's virtual machine; a job starts with `. /lib.sh`.
# The host's loopback is 10.0.2.2 here.

set -e

# Say a line that the test on the host waits for.
mark() { echo "GLINT-VM-MARK $*"; }

# Make a record for the target IQN at PORTAL, then settings as NAME=VALUE.
node() {
    iqn=$1 portal=$2
    shift 2
    iscsiadm -m node -T "$iqn" -p "$portal" -o new >/dev/null
    for setting in "$@"; do
        iscsiadm -m node -T "$iqn" -p "$portal" -o update -n "${setting%%=*}" -v "${setting#*=}"
    done
}

login() { iscsiadm -m node -T "$1" -p "$2" --login >/dev/null; }
logout() { iscsiadm -m node -T "$1" -p "$2" --logout >/dev/null; }

# Print the /dev name of LUN 0 (or of the LUN given second) of the logged in target IQN, when it has come up.
disk() {
    for try in $(seq 1 100); do
        for session in /sys/class/iscsi_session/session*; do
            [ "$(cat "$session/targetname" 2>/dev/null)" = "$1" ] || continue
            for block in "$session"/device/target*/*:*:*:"${2:-0}"/block/*; do
                [ -b "/dev/${block##*/}" ] && echo "/dev/${block##*/}" && return 0
            done
        done
        usleep 200000
    done
    echo "no disk of $1" >&2
    return 1
}

# Make a further record for the target IQN at PORTAL, as the initiator NAME (a word).
node_as() {
    iscsiadm -m iface -I "$3" -o new >/dev/null
    iscsiadm -m iface -I "$3" -o update -n iface.initiatorname -v "iqn.2026-12.io.glint.test:$3" >/dev/null
    iscsiadm -m node -T "$1" -p "$2" -I "$3" -o new >/dev/null
}

# Log in by that record, and print the /dev name of the disk that comes.
disk_as() {
    known=" $(cd /sys/block && echo sd*) "
    iscsiadm -m node -T "$1" -p "$2" -I "$3" --login >/dev/null
    for try in $(seq 1 100); do
        for block in /sys/block/sd*; do
            case $known in *" ${block##*/} "*) continue ;; esac
            [ -b "/dev/${block##*/}" ] && echo "/dev/${block##*/}" && return 0
        done
        usleep 200000
    done
    echo "no disk of $1 for $3" >&2
    return 1
}

# Run a command that has to fail.
refused() {
    if "$@"; then
        echo "should have failed: $*" >&2
        return 1
    fi
}

# Run a command and fail, showing what it printed, when that does not contain every TEXT: says TEXT... -- COMMAND...
says() {
    texts=
    while [ "$1" != -- ]; do
        texts="$texts$1
"
        shift
    done
    shift
    "$@" >/tmp/said 2>&1 || { echo "failed: $*"; cat /tmp/said; return 1; }
    printf %s "$texts" | while IFS= read -r text; do
        grep -qF -e "$text" /tmp/said || { echo "no \"$text\" from $*:"; cat /tmp/said; exit 1; }
    done
}

# Run a command that describes a disk and fail, showing what it printed, when it had trouble with what it was told.
describes() {
    "$@" >/tmp/said 2>&1 || { echo "failed: $*"; cat /tmp/said; return 1; }
    if grep -iE 'failed|decod.*error|malformed|truncated|too short|illegal|unexpected|unable' /tmp/said; then
        echo "trouble in $*:"
        cat /tmp/said
        return 1
    fi
}

# The kernel's own interface to persistent reservations (linux/pr.h) on DISK: what the ioctl gives, -1 for a refusal with an error code.
#   blkpr DISK register OLD NEW | reserve KEY TYPE | release KEY TYPE | preempt KEY VICTIM TYPE | preempt-abort KEY VICTIM TYPE | clear KEY
# TYPE is the kernel's: 1 write exclusive, 2 exclusive access, 3 and 4 for registrants only, 5 and 6 for all registrants.
blkpr() {
    perl -e '
        my ($disk, $action, @arguments) = @ARGV;
        my %ioctls = (
            register => [0x401870c8, "QQLL"], reserve => [0x401070c9, "QLL"], release => [0x401070ca, "QLL"],
            preempt => [0x401870cb, "QQLL"], "preempt-abort" => [0x401870cc, "QQLL"], clear => [0x401070cd, "QLL"],
        );
        my ($number, $layout) = @{$ioctls{$action}} or die "no $action";
        open(my $file, "+<", $disk) or die "$disk: $!";
        my $argument = pack($layout, @arguments, 0, 0);
        my $answer = ioctl($file, $number, $argument);
        print defined $answer ? $answer + 0 : -1, "\n";
    ' "$@"
}

# What the session with IQN settled on: its attribute of that name in sysfs (header_digest, data_digest, ...).
negotiated() {
    for session in /sys/class/iscsi_session/session*; do
        [ "$(cat "$session/targetname")" = "$1" ] || continue
        cat "$session"/device/connection*/iscsi_connection/connection*/"$2"
    done
}

# Fail, showing them, if the kernel logged any I/O error so far.
no_io_errors() {
    ! dmesg | grep -iE 'I/O error|Buffer I/O|EXT4-fs error|JBD2.*error|Remounting filesystem read-only'
}
