//! Commands and their flags, as clap reads them and `--help` teaches them.

use crate::config::{ConfigSource, Flags, StoreUrl, parse_duration};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use glint_cluster_core::membership::NodeId;
use std::path::PathBuf;
use std::time::Duration;

/// Serves block devices that live on GlusterFS to iSCSI initiators: one unprivileged process, no kernel target.
#[derive(Debug, Parser)]
#[command(name = "glint", version, propagate_version = true, after_help = TOP_EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve volumes until SIGTERM; read the configuration again at SIGHUP
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Validate a configuration: say every fault with its line, or what would be served
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// List the nodes that share a store, and who owns which volume
    #[command(after_help = NODES_EXAMPLES)]
    Nodes(NodesArgs),
    /// Move a volume to another node by hand
    #[command(after_help = MOVE_EXAMPLES)]
    Move(MoveArgs),
    /// Print a script that completes glint's commands in a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The configuration (TOML); the flags below win over it
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Address to bind, HOST[:PORT], instead of the configuration's portals [default: 127.0.0.1:3260]
    ///
    /// IPv6 in brackets; 0.0.0.0 or [::] for all addresses; port 0 for any free one. May be repeated.
    #[arg(long, value_name = "ADDR")]
    listen: Vec<String>,

    /// Address that initiators are told to connect to, where it is not the bound one
    ///
    /// HOST[:PORT] as initiators reach it, a name or an address: behind a Service, NAT or load balancer. May be repeated.
    #[arg(long, value_name = "ADDR")]
    advertise: Vec<String>,

    /// Serve iSCSI over TLS with this certificate (PEM, intermediates after it); needs --tls-key
    ///
    /// Initiators come by a tunnel such as stunnel; say with --advertise where their own end of it listens.
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// The private key of --tls-cert (PEM)
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Let in only TLS clients that show a certificate from these CAs (PEM)
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<PathBuf>,

    /// Address of /metrics, /livez and /readyz, or `off` [default: 127.0.0.1:9480]
    #[arg(long, value_name = "ADDR|off")]
    api: Option<String>,

    /// Directory for what must outlive the process: persistent reservations, saved mode pages [default: /var/lib/glint]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,

    /// Name of this node among several that serve the same volumes; needs --store and --internal
    ///
    /// Lower-case letters, digits and '-'. A node keeps it, and with it its target port group, wherever it runs.
    #[arg(long, value_name = "NAME")]
    node: Option<String>,

    /// Directory in which the nodes agree on who owns which volume, made where it is missing
    ///
    /// gluster://HOST[:PORT][,HOST2..]/VOLUME/DIR, or a local directory for nodes that share a machine or a file system.
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// Address to bind for connections of the other nodes, HOST:PORT
    #[arg(long, value_name = "ADDR")]
    internal: Option<String>,

    /// Address at which the other nodes reach this one, where it is not the bound one; needed with 0.0.0.0 and [::]
    #[arg(long, value_name = "ADDR")]
    internal_advertise: Option<String>,

    /// A volume to serve as LUN 0 of the target iqn.2026-12.io.glint:NAME. May be repeated
    ///
    /// DEVICE is one of
    ///   gluster://HOST[:PORT][,HOST2..]/VOLUME/PATH   a file on GlusterFS
    ///   file:/PATH                                    a local file or block device
    ///   ram:                                          memory, gone at the end
    ///   null:                                         reads zeros, drops writes
    ///
    /// and the options, each after a comma, are
    ///   size=1GiB         create the device where it is missing; needed for ram: and null:
    ///   grow              let a smaller device grow to that size
    ///   shrink            cut a larger device to that size: DESTROYS what lies beyond
    ///   preallocate       take all the space when it is created
    ///   provisioning=full let initiators give no space back [default: thin]
    ///   block_size=4096   logical block size, 512 or 4096 [default: 512]
    ///   physical_block_size=4KiB
    ///                     physical block size that initiators are told [default: the device's]
    ///   low_space=10%     tell initiators when the device's store has only so much space left
    ///   max_iops=5000     commands a second; more wait. Beside it iops_burst=500, so many at once after a rest
    ///   max_bytes_per_second=100MiB
    ///                     and max_read_bytes_per_second, max_write_bytes_per_second; with bytes_burst, read_bytes_burst,
    ///                     write_bytes_burst [default of each burst: a tenth of a second's worth]
    ///   read_only         refuse writes
    ///   removable         tell initiators that the medium can be removed
    ///   serial=TEXT       serial number, instead of one made from the target's name
    ///
    /// A comma within a path is written twice.
    #[arg(long = "volume", value_name = "NAME=DEVICE[,OPTION..]", verbatim_doc_comment)]
    volumes: Vec<String>,
}

impl ServeArgs {
    /// Where the configuration comes from, at the start and at each reload.
    pub(super) fn into_source(self) -> ConfigSource {
        let Self {
            config, listen, advertise, tls_cert, tls_key, tls_client_ca, api, state_dir, volumes, ..
        } = self;
        let Self { node, store, internal, internal_advertise, .. } = self;
        let flags = Flags {
            listen,
            advertise,
            tls_cert,
            tls_key,
            tls_client_ca,
            api,
            volumes,
            state_dir,
            node,
            store,
            internal,
            internal_advertise,
        };
        ConfigSource { file: config, flags }
    }
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// The configuration (TOML)
    #[arg(short, long, value_name = "FILE")]
    pub(super) config: PathBuf,

    /// Print JSON, for machines
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct NodesArgs {
    /// The store of the nodes: gluster://HOST[:PORT][,HOST2..]/VOLUME/DIR, or a directory
    #[arg(long, value_name = "URL")]
    pub(super) store: StoreUrl,

    /// Print JSON, for machines
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct MoveArgs {
    /// The store of the nodes: gluster://HOST[:PORT][,HOST2..]/VOLUME/DIR, or a directory
    #[arg(long, value_name = "URL")]
    pub(super) store: StoreUrl,

    /// The volume, as `glint nodes` names it
    pub(super) volume: String,

    /// The node that is to have it
    #[arg(value_parser = node_id)]
    pub(super) node: NodeId,

    /// How long to wait until it is there
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_duration)]
    pub(super) timeout: Duration,

    /// Print JSON, for machines
    #[arg(long)]
    pub(super) json: bool,
}

fn node_id(text: &str) -> Result<NodeId, String> {
    NodeId::new(text).ok_or_else(|| "a node's name has lower-case letters, digits and '-', 63 at most".into())
}

const TOP_EXAMPLES: &str = "\
Examples:
  glint serve --volume demo=file:/srv/demo.img,size=1GiB
      serve a file at iscsi://127.0.0.1:3260/iqn.2026-12.io.glint:demo/0, creating it first
  glint serve -c /etc/glint/glint.toml
      serve what a configuration says
  glint check -c /etc/glint/glint.toml
      tell what is wrong with it, without serving

`glint help serve` tells devices and their options.";

const SERVE_EXAMPLES: &str = "\
Examples:
  glint serve --listen 0.0.0.0 --advertise storage.example.net \\
      --volume db=gluster://gluster1,gluster2/vol1/blocks/db.img,size=100GiB
  glint serve --volume a=file:/srv/a.img,size=10GiB --volume b=ram:,size=1GiB,block_size=4096
  glint serve -c /etc/glint/glint.toml --api off
  glint serve --node n1 --store gluster://gluster1/vol1/glint --internal 10.0.0.1:9470 \\
      --listen 10.0.0.1 --volume db=gluster://gluster1/vol1/blocks/db.img,size=100GiB
      be one of several nodes that serve db; start the others with their own --node, --internal and --listen

Initiator lists, networks, CHAP, redirects and several LUNs in a target need a configuration. A configuration or a flag that is wrong ends glint with code 2.";

const CHECK_EXAMPLES: &str = "\
Each fault is one line, FILE:LINE: what is wrong and what to do. Exit code 0: it can be served; 2: it has faults.

Example:
  glint check -c /etc/glint/glint.toml && pkill -HUP glint";

const NODES_EXAMPLES: &str = "\
A node is alive when its heartbeat is seen to change: a second or two, and six where one is dead. No node is asked, only the store. Volumes that no initiator has used yet are not in it.
States of nodes: alive, dead, left (stopped on purpose), unknown, damaged, unreadable. States of volumes: owned, owner-dead (the next command moves it), owner-unknown, released, nobody, damaged, unreadable.
GROUP is the target port group (ALUA); FENCING says whether the store itself keeps former owners from writing. What cannot be read is told on stderr; exit code 1: the store could not be read at all.

Examples:
  glint nodes --store gluster://gluster1/vol1/glint
  glint nodes --store /srv/glint --json";

const MOVE_EXAMPLES: &str = "\
The owner finishes its commands, writes everything to stable storage and lets go; then the node takes the volume. Sessions stay. A volume that was moved by hand does not go back by itself.
Steps go to stderr, the result to stdout. Exit code 0: it is there; 1: it is not, and why.

Example:
  glint move --store gluster://gluster1/vol1/glint db n2";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  glint completions bash > /etc/bash_completion.d/glint
  glint completions zsh > /usr/share/zsh/site-functions/_glint";
