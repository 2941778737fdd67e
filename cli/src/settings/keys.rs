//! The keys of `lingua serve`, one line each: name => place, range, and what it means.

use std::time::Duration;

use crate::settings::Settings;
use crate::settings::value::{Value, kind_of, within};

/// One thing that can be set: in the file by `name`, in the environment by `LINGUA_NAME`, on the
/// command line by `--name` with hyphens.
pub(crate) struct Key {
    pub(super) name: &'static str,
    pub(super) heading: &'static str,
    pub(super) help: &'static str,
    pub(super) kind: fn() -> &'static str,
    pub(super) set: fn(&mut Settings, &str) -> Result<(), String>,
    pub(super) shown: fn(&Settings) -> String,
}

impl Key {
    pub(super) fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    pub(super) fn variable(&self) -> String {
        format!("LINGUA_{}", self.name.to_ascii_uppercase())
    }
}

macro_rules! keys {
    ($($heading:literal: {
        $($name:ident => $($place:ident).+ $(in $range:expr)?, $help:literal;)+
    })+) => {
        /// All of them, in the order in which they are shown.
        pub(crate) const KEYS: &[Key] = &[$($(Key {
            name: stringify!($name),
            heading: $heading,
            help: $help,
            kind: || kind_of(|settings| &settings.$($place).+),
            set: |settings, text| {
                let value = Value::read(text)?;
                $(within(&value, &$range)?;)?
                settings.$($place).+ = value;
                Ok(())
            },
            shown: |settings| settings.$($place).+.shown(),
        },)+)+];
    };
}

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

keys! {
    "Server": {
        listen => listen, "Address and port";
        max_jobs => server.max_jobs in 1..=1_024,
            "Concurrent jobs of a node that names no maximum";
        require_services => server.require_services,
            "Give jobs only to nodes that say that recognition, translation and speech are ready";
        drain => server.limits.drain in Duration::ZERO..=HOUR,
            "Longest wait at SIGTERM for what is under way";
        goodbye => server.limits.goodbye in Duration::ZERO..=HOUR,
            "Longest wait after that for sockets to close";
    }
    "Shared state (without Redis it is in this process, the only instance)": {
        redis => server.redis.addresses,
            "Redis that several instances share; several addresses are a Cluster's. An address with a \
             password belongs into the environment or the file: a flag is seen by all users";
        redis_cluster => server.redis.cluster, "The Redis is a Cluster";
        advertise => server.redis.advertise,
            "Where other instances reach this one; absent: where it listens";
        duty_tolerance => server.redis.duties.tolerance in 1..=4_096,
            "Instances that may die at once while the others can take all duties";
        duty_alarm_above => server.redis.duties.alarm_above in 1..=1_000_000,
            "Duties of this instance beyond which it raises an alarm";
        duty_alarm_webhook => server.redis.duties.webhook,
            "Where an alarm is posted to, as JSON";
        duty_zookeeper => server.redis.duties.zookeeper,
            "ZooKeeper that keeps the duties instead of Redis, and the path there; the same at all \
             instances. It needs a build with the feature `zookeeper`";
        duty_zookeeper_login => tokens.duty_zookeeper,
            "File with the user:password that ZooKeeper knows; absent: anybody may change the duties";
    }
    "Access (without tokens only a loopback address is listened on)": {
        session_token => tokens.session_token, "File with the token that clients show";
        session_jwt_key => tokens.session_jwt_key,
            "File with the key that signs the clients' JSON Web Tokens (HS256)";
        node_token => tokens.node_token, "File with the token that nodes show";
        node_jwt_key => tokens.node_jwt_key,
            "File with the key that signs the nodes' JSON Web Tokens (HS256)";
        admin_anywhere => server.access.admin_anywhere,
            "Show dashboard, figures and metrics to other machines too";
    }
    "Log and figures": {
        log => server.log.level,
            "Lines that are written: error, warn, info, debug, trace, off; also by target, such as \
             info,lingua_server=debug";
        log_format => server.log.format, "How they look: text or json";
        snapshot => server.limits.snapshot in SECOND / 10..=MINUTE,
            "How often dashboard and metrics are made anew";
    }
    "Limits": {
        sockets => server.limits.sockets in 1..=10_000_000, "Sockets of both kinds at once";
        sockets_per_address => server.limits.sockets_per_address in 1..=10_000_000,
            "Connections of one address at once; many peers may share a proxy's";
        sessions_per_socket => server.limits.sessions_per_socket in 1..=1_024,
            "Sessions of one socket";
        speech_per_session => server.limits.speech_per_session in 1 << 20..=1 << 30,
            "Bytes of one session's speech that wait for answers; beyond it its speech is refused";
        speech => server.limits.speech in 1 << 20..=1 << 40,
            "The same of all sessions; beyond it each may have no more than 1 MiB";
        handshakes => server.limits.handshakes in 1..=1_000_000,
            "Connections that are not sockets yet; beyond it the oldest is cut";
        handshake => server.limits.handshake in SECOND / 10..=HOUR,
            "Longest time for a request to arrive";
        first_message => server.limits.first_message in SECOND / 10..=HOUR,
            "Longest wait for a socket's first message";
        ping => server.limits.ping in SECOND..=HOUR,
            "How often a silent peer is pinged; two pings unanswered close it";
        write => server.limits.write in SECOND / 10..=HOUR, "Longest time that one write may take";
        bad_frames => server.limits.bad_frames in 1..=1_000_000,
            "Frames in a row that are no messages; then the peer is closed";
        outbox => server.limits.outbox in 1..=65_536,
            "Messages that wait for one peer to read; beyond it the peer is closed";
        inbox => server.limits.inbox in 1..=10_000_000,
            "Messages that wait for the scheduler; beyond it peers are read more slowly";
    }
    "Rooms": {
        rooms => server.rooms.rooms in 1..=450_000, "Rooms at once";
        room_members => server.rooms.members in 1..=1_024, "Members of one room";
        room_wrong_codes => server.rooms.wrong_codes in 1..=1_000_000,
            "Wrong codes of one session; then its socket is closed";
        room_idle => server.rooms.idle in SECOND..=DAY,
            "A room in which nobody spoke for this long is closed";
        room_scan => server.rooms.scan in SECOND / 10..=HOUR, "How often that is looked at";
    }
}
