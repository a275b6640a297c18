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
