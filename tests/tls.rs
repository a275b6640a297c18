//! iSCSI over TLS: real initiators come by stunnel, and nobody else gets in.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use glint_testkit::glint::{self, Builder, Glint};
use glint_testkit::http;
use glint_testkit::pki::Authority;
use glint_testkit::process::Process;
use glint_testkit::tools::{Finished, libiscsi, qemu_img, tool};
use glint_testkit::tunnel::{Stunnel, Tunnel};
use glint_testkit::{data, wait};

const LIMIT: Duration = Duration::from_secs(20);
const NAME: &str = "storage.example";
const DISK: &str = "[[target]]\nname = \"disk\"\n[[target.lun]]\ndevice = \"ram:\"\nsize = \"48MiB\"\n";

/// A glint with a portal for TLS, its CA, and the CA of its clients.
struct Lab {
    glint: Glint,
    servers: Authority,
    clients: Authority,
    /// Told to initiators: where their end of the tunnel is to be.
    told: SocketAddr,
}

/// The portal's section, in which `more` stands under `[portal.tls]`.
fn portal(builder_portal: SocketAddr, told: SocketAddr, more: &str) -> String {
    format!(
        "[[portal]]\nlisten = \"{builder_portal}\"\nadvertise = \"{told}\"\n[portal.tls]\n\
         certificate_file = \"server.pem\"\nkey_file = \"server.key\"\n{more}\n"
    )
}

impl Lab {
    fn new(more: &str, targets: &str) -> Self {
        let builder: Builder = Glint::serve();
        let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
        servers.issue(&[NAME]).write(builder.dir(), "server");
        servers.write(builder.dir(), "servers");
        clients.write(builder.dir(), "clients");
        let told = glint::loopback();
        let portals = portal(builder.portal(), told, more);
        let glint = builder.portals(&portals).start_with_config(targets);
        Self { glint, servers, clients, told }
    }

    /// Where clients have to show a certificate.
    fn mutual() -> Self {
        Self::new("client_ca_file = \"clients.pem\"", DISK)
    }

    fn ca(&self) -> PathBuf {
        self.glint.dir().join("servers.pem")
    }

    /// A pair that the clients' CA has signed.
    fn pair(&self, name: &str) -> (PathBuf, PathBuf) {
        self.clients.issue(&[name]).write(self.glint.dir(), name)
    }

    fn tunnel(&self, pair: Option<&(PathBuf, PathBuf)>, more: &str) -> Stunnel {
        let tunnel = Tunnel { ca: &self.ca(), name: NAME, pair, more };
        tunnel.start(self.glint.dir(), self.glint.portal())
    }

    fn failed_logins(&self, reason: &str) -> f64 {
        let (_, text) = http::get(self.glint.api(), "/metrics");
        http::metric(&text, "glint_logins_failed_total", &[&format!("reason=\"{reason}\"")])
    }
}

fn list(address: SocketAddr) -> Finished {
    tool("iscsi-ls", ["-s", &format!("iscsi://{address}")], LIMIT)
}

fn assert_nothing(address: SocketAddr) {
    let told = list(address).failure();
    assert!(!told.contains("iqn."), "something was told:\n{told}");
}

#[test]
fn initiators_work_through_a_tunnel() {
    let lab = Lab::mutual();
    let pair = lab.pair("host1.example");
    let tunnel = Tunnel { ca: &lab.ca(), name: NAME, pair: Some(&pair), more: "" };
    let tunnel = tunnel.start_at(lab.told, lab.glint.dir(), lab.glint.portal());

    // What SendTargets tells is the tunnel's near end, so that the second step of iscsi-ls, logging in, goes there by itself.
    let listed = list(tunnel.address).success();
    assert!(listed.contains(&format!("io.glint:disk Portal:{}", lab.told)), "{listed}");
    assert!(
        listed.contains("Type:DIRECT_ACCESS") && !listed.contains(&lab.glint.portal().to_string()),
        "{listed}"
    );

    let url = lab.glint.url_at(tunnel.address, None, "disk");
    let path = |name: &str| lab.glint.dir().join(name).display().to_string();
    let (source, copy) = (path("source.img"), path("copy.img"));
    let image = data::image(7, 48 << 20);
    fs::write(&source, &image).unwrap();
    qemu_img(&["convert", "-n", "-f", "raw", "-O", "raw", &source, &url]);
    qemu_img(&["convert", "-f", "raw", "-O", "raw", &url, &copy]);
    assert!(fs::read(&copy).unwrap() == image, "the image came back changed");

    for suite in ["SCSI.Read16", "SCSI.Write10", "iSCSI.iSCSIcmdsn", "iSCSI.iSCSIResiduals"] {
        let told = libiscsi("iscsi-test-cu", &["--dataloss", "--silent", "--test", suite, &url]);
        let ran = told.lines().find_map(|line| line.trim_start().strip_prefix("tests "));
        let ran =
            ran.and_then(|counts| counts.split_whitespace().nth(1)).and_then(|ran| ran.parse::<u32>().ok());
        assert!(ran.is_some_and(|ran| ran > 0), "{suite} ran nothing:\n{told}");
    }
    let told = libiscsi("iscsi-perf", &["-t", "2", "-m", "64", "-b", "512", "-x", "0", &url]);
    assert!(told.contains("finished"), "{told}");
    assert_eq!(lab.failed_logins("tls"), 0.0, "{}", lab.glint.log());
}

#[test]
fn both_versions_of_tls_are_spoken() {
    let lab = Lab::new("", DISK);
    for version in ["TLSv1.2", "TLSv1.3"] {
        let tunnel = lab.tunnel(None, &format!("sslVersion = {version}\n"));
        assert!(list_direct(&lab, &tunnel), "{version}:\n{}", tunnel.log());
        assert!(tunnel.log().contains(&format!("{version} ciphersuite")), "{}", tunnel.log());
    }
}

/// Whether a session can be had through a tunnel whose address is not told by SendTargets.
fn list_direct(lab: &Lab, tunnel: &Stunnel) -> bool {
    let url = lab.glint.url_at(tunnel.address, None, "disk");
    tool("iscsi-inq", [&url], LIMIT).status.success()
}

#[test]
fn who_shows_no_good_certificate_gets_nothing() {
    let mut lab = Lab::mutual();
    let stranger = Authority::new("strangers").issue(&["host1.example"]).write(lab.glint.dir(), "stranger");
    let old = lab
        .clients
        .issue_until(&["host1.example"], std::time::SystemTime::now() - Duration::from_secs(90_000));
    let old = old.write(lab.glint.dir(), "old");
    for (pair, told) in [
        (None, "give the client a certificate that `client_ca_file` vouches for"),
        (Some(&stranger), "the client's certificate is signed by none of `client_ca_file`"),
        (Some(&old), "renew the client's certificate"),
    ] {
        let tunnel = lab.tunnel(pair, "");
        assert_nothing(tunnel.address);
        lab.glint.wait_for_log(told, LIMIT);
    }
    assert!(lab.failed_logins("tls") >= 3.0);
    let good = lab.pair("host1.example");
    let tunnel = lab.tunnel(Some(&good), "");
    assert!(list_direct(&lab, &tunnel), "{}", tunnel.log());
}

#[test]
fn a_certificate_may_be_optional_but_not_wrong() {
    let lab = Lab::new("client_ca_file = \"clients.pem\"\nclient_certificates = \"optional\"", DISK);
    assert!(list_direct(&lab, &lab.tunnel(None, "")));
    assert!(list_direct(&lab, &lab.tunnel(Some(&lab.pair("host1.example")), "")));
    let stranger = Authority::new("strangers").issue(&["host1.example"]).write(lab.glint.dir(), "stranger");
    assert_nothing(lab.tunnel(Some(&stranger), "").address);
}

#[test]
fn only_clients_of_the_names_that_are_listed_get_in() {
    let mut lab =
        Lab::new("client_ca_file = \"clients.pem\"\nclient_names = [\"host1.example\", \"192.0.2.7\"]", DISK);
    for (name, let_in) in [("host1.example", true), ("192.0.2.7", true), ("host2.example", false)] {
        let tunnel = lab.tunnel(Some(&lab.pair(name)), "");
        match let_in {
            true => assert!(list_direct(&lab, &tunnel), "{name}:\n{}", tunnel.log()),
            false => assert_nothing(tunnel.address),
        }
    }
    lab.glint.wait_for_log("none of the names in `client_names`", LIMIT);
}

#[test]
fn a_client_that_trusts_another_ca_is_spoken_of() {
    let mut lab = Lab::new("", DISK);
    let other = Authority::new("others").write(lab.glint.dir(), "others");
    let tunnel = Tunnel { ca: &other, name: NAME, pair: None, more: "" };
    let tunnel = tunnel.start(lab.glint.dir(), lab.glint.portal());
    assert_nothing(tunnel.address);
    lab.glint.wait_for_log("the client does not trust `certificate_file`", LIMIT);
}

#[test]
fn plain_initiators_and_tls_portals_part_soon() {
    let mut lab = Lab::new("", DISK);
    let start = Instant::now();
    assert_nothing(lab.glint.portal());
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
    lab.glint.wait_for_log("a plain iSCSI initiator came to a portal with TLS: have it connect to", LIMIT);
    assert!(lab.failed_logins("tls") >= 1.0);
}

#[test]
fn tls_clients_and_plain_portals_part_soon() {
    let mut glint = Glint::with_volume("disk=ram:,size=1MiB");
    let ca = Authority::new("servers").write(glint.dir(), "servers");
    let tunnel = Tunnel { ca: &ca, name: NAME, pair: None, more: "" }.start(glint.dir(), glint.portal());
    let start = Instant::now();
    assert_nothing(tunnel.address);
    assert!(start.elapsed() < Duration::from_secs(10), "it took {:?}", start.elapsed());
    glint.wait_for_log("a TLS client came to a portal without TLS: have it connect to", LIMIT);
    libiscsi("iscsi-inq", &[&glint.url("disk")]);
}

/// A handshake has the time of a login and a place among the connections, as a login has.
#[test]
fn handshakes_are_bounded() {
    let limits = "[limits]\nlogin_timeout = \"2s\"\nmax_connections = 2\n\n";
    let mut lab = Lab::new("", &(limits.to_owned() + DISK));
    let start = Instant::now();
    let connect = |first: &[u8]| {
        let mut socket = TcpStream::connect(lab.glint.portal()).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        socket.write_all(first).unwrap();
        socket
    };
    let mut silent = connect(&[]);
    let mut half = connect(&[22, 3, 1, 2, 0, 1]);
    assert_eq!(silent.read(&mut [0; 64]).unwrap_or(0), 0);
    assert_eq!(half.read(&mut [0; 64]).unwrap_or(0), 0);
    let took = start.elapsed();
    assert!(took > Duration::from_millis(1900) && took < Duration::from_secs(6), "{took:?}");

    // More than may be there: the oldest that is not logged in makes room at once.
    let start = Instant::now();
    let mut crowd: Vec<_> = (0..4).map(|_| connect(&[22, 3, 1])).collect();
    assert_eq!(crowd[0].read(&mut [0; 64]).unwrap_or(0), 0);
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    lab.glint.wait_for_log("too many connections", LIMIT);
    lab.glint.wait_for_log("the TLS handshake took longer than login_timeout", LIMIT);
    drop(crowd);
    wait::until("a session can be had again", LIMIT, || list_direct(&lab, &lab.tunnel(None, "")));
}

#[test]
fn a_renewed_certificate_is_taken_at_a_reload() {
    let mut lab = Lab::new("", DISK);
    let directory = lab.glint.dir().to_path_buf();
    let old = lab.tunnel(None, "");
    let url = lab.glint.url_at(old.address, None, "disk");
    let mut session =
        Process::start(Command::new("iscsi-perf").args(["-m", "4", "-x", "0", "-t", "6", &url]));
    session.wait_for_line("that it reads", LIMIT, |line| line.contains("will run"));

    // A key that belongs to another certificate: nothing changes.
    let renewed = Authority::new("renewed");
    fs::write(directory.join("server.key"), renewed.issue(&[NAME]).key).unwrap();
    lab.glint.reconfigure(DISK);
    lab.glint.wait_for_log("this key belongs to another certificate", LIMIT);
    assert!(list_direct(&lab, &old));

    renewed.issue(&[NAME]).write(&directory, "server");
    let ca = renewed.write(&directory, "renewed");
    lab.glint.reconfigure(DISK);
    let new = Tunnel { ca: &ca, name: NAME, pair: None, more: "" }.start(&directory, lab.glint.portal());
    wait::until("the new certificate is shown", LIMIT, || list_direct(&lab, &new));
    assert!(!list_direct(&lab, &old), "the old certificate is still shown");

    let (status, output) = session.finish(Duration::from_secs(30));
    assert!(
        status.success() && output.contains("finished"),
        "the session was disturbed, {status}:\n{output}"
    );

    // And a portal may get and lose its TLS as a whole.
    lab.glint.set_portals(&format!("[[portal]]\nlisten = \"{}\"\n", lab.glint.portal()));
    lab.glint.reconfigure(DISK);
    wait::until("the portal is plain", LIMIT, || {
        tool("iscsi-inq", [&lab.glint.url("disk")], LIMIT).status.success()
    });
    drop(lab.servers);
}

#[test]
fn an_expired_certificate_is_warned_of_and_a_wrong_key_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let authority = Authority::new("servers");
    let until = std::time::SystemTime::now() - Duration::from_secs(90_000);
    authority.issue_until(&[NAME], until).write(path, "server");
    let check = |path: &Path| {
        let file = path.join("glint.toml");
        fs::write(&file, portal(([127, 0, 0, 1], 3260).into(), ([127, 0, 0, 1], 3261).into(), "") + DISK)
            .unwrap();
        glint::run(&["check", "-c", file.to_str().unwrap()])
    };
    let told = check(path).success();
    assert!(told.contains("warning: ") && told.contains("the certificate expired 1 days ago"), "{told}");
    assert!(told.contains("(group 1), TLS"), "{told}");
    fs::write(path.join("server.key"), authority.issue(&[NAME]).key).unwrap();
    let told = check(path).failure();
    assert!(told.contains("glint.toml:6: this key belongs to another certificate"), "{told}");
}
