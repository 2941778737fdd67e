//! What the system must allow before the first socket opens.

use std::net::IpAddr;

use lingua_reports::load::Preflight;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors besides sockets: files, the runtime, standard streams.
const DESCRIPTORS_BESIDE: u64 = 64;
/// Addresses of one loopback network that are used at most.
const ADDRESSES_MAX: u64 = 250;
/// Sockets from one source address at most: some ports always belong to others.
const SOCKETS_PER_ADDRESS: u64 = 20_000;
/// Ports that a system gives out where it does not tell.
const PORTS: u64 = 28_232;

/// Raises the soft limit of descriptors as far as it is needed and allowed, and tells what is
/// there; what is short is the caller's to judge.
pub(crate) fn prepare(sockets: u64, target: IpAddr) -> Preflight {
    let descriptors_needed = sockets + DESCRIPTORS_BESIDE;
    let limit = getrlimit(Resource::Nofile);
    let soft = limit.current.unwrap_or(u64::MAX);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let mut descriptors_allowed = soft;
    // Twice, because a scheduler of the run's own inherits it and opens as many and more.
    let wanted = descriptors_needed.saturating_mul(2).min(hard);
    if soft < wanted {
        let raised = Rlimit { current: Some(wanted), maximum: limit.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            descriptors_allowed = wanted;
        }
    }
    let addresses = if target.is_loopback() && target.is_ipv4() { ADDRESSES_MAX } else { 1 };
    Preflight {
        descriptors_needed,
        descriptors_allowed,
        ports_needed: sockets,
        ports_allowed: u64::from(sockets_per_address()) * addresses,
    }
}

/// What is short, in a sentence that names the mend.
pub(crate) fn shortage(of: &Preflight) -> Option<String> {
    let Preflight { descriptors_needed, descriptors_allowed, ports_needed, ports_allowed } = *of;
    if descriptors_needed > descriptors_allowed {
        return Some(format!(
            "pre-flight: {descriptors_needed} descriptors are needed and {descriptors_allowed} \
             allowed; raise the hard limit (ulimit -Hn) or make the scenario smaller"
        ));
    }
    (ports_needed > ports_allowed).then(|| {
        format!(
            "pre-flight: {ports_needed} ports are needed and {ports_allowed} there are; widen \
             net.ipv4.ip_local_port_range or split the run with --shard"
        )
    })
}

/// Sockets that one source address has ports for.
pub(crate) fn sockets_per_address() -> u32 {
    ports().clamp(1, SOCKETS_PER_ADDRESS) as u32
}

/// Ports that the system gives to sockets of one source address.
fn ports() -> u64 {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let range = range.ok().and_then(|text| {
        let mut ends = text.split_whitespace().map(|end| end.parse::<u64>().ok());
        let (low, high) = (ends.next()??, ends.next()??);
        high.checked_sub(low)
    });
    range.map_or(PORTS, |width| width + 1)
}
