//! Servers that fail with writes that are lost.

use std::thread::sleep;
use std::time::{Duration, Instant};

use redis::{Connection, RedisResult, cmd};

use crate::servers::{PATIENCE, Server, Servers};

impl Servers {
    /// Three primaries with a replica each.
    pub(crate) fn cluster_with_replicas() -> Self {
        let mut this = Self::cluster();
        for at in 0..this.servers.len() {
            let mut replica = Server::of_cluster();
            let mut connection = replica.connection();
            replica.meet(&mut this.connections[0]);
            let primary: String = ask(&mut this.connections[at], &["CLUSTER", "MYID"]).unwrap();
            wait(|| ask::<()>(&mut connection, &["CLUSTER", "REPLICATE", &primary]).is_ok());
            wait_for_link(&mut connection);
            // It cannot take over slots that it has not heard of.
            wait(|| has_slots(&mut connection, &primary));
            this.replicas.push(replica);
        }
        this
    }

    /// From now on all writes of a server will be lost with it.
    pub(crate) fn freeze(&mut self, at: usize) {
        if self.replicas.is_empty() {
            ask::<()>(&mut self.connections[at], &["SAVE"]).unwrap();
            return;
        }
        // What was written before is not lost.
        let mut replica = self.replicas[at].connection();
        let primary = &mut self.connections[at];
        wait(|| {
            offset(primary, "master_repl_offset:") == offset(&mut replica, "slave_repl_offset:")
        });
        // A password that the primary does not know ends the replication for good.
        ask::<()>(&mut replica, &["CONFIG", "SET", "masterauth", "wrong"]).unwrap();
        ask::<i32>(&mut replica, &["CLIENT", "KILL", "TYPE", "master"]).unwrap();
        wait(|| !is_linked(&mut replica));
    }

    /// A frozen server dies. What follows it has none of what was written since.
    pub(crate) fn fail_over(&mut self, at: usize) {
        self.servers[at].kill();
        if self.replicas.is_empty() {
            self.servers[at].start_again();
            self.connections[at] = self.servers[at].connection();
            return;
        }
        let mut replica = self.replicas[at].connection();
        ask::<()>(&mut replica, &["CONFIG", "SET", "masterauth", ""]).unwrap();
        ask::<()>(&mut replica, &["CLUSTER", "FAILOVER", "TAKEOVER"]).unwrap();
        let successor: String = ask(&mut replica, &["CLUSTER", "MYID"]).unwrap();
        std::mem::swap(&mut self.servers[at], &mut self.replicas[at]);
        self.connections[at] = replica;
        for connection in &mut self.connections {
            wait(|| has_slots(connection, &successor));
        }
        // The dead one comes back as the replica of its replica.
        self.replicas[at].start_again();
        wait_for_link(&mut self.replicas[at].connection());
        for connection in &mut self.connections {
            wait(|| {
                let info: RedisResult<String> = ask(connection, &["CLUSTER", "INFO"]);
                info.is_ok_and(|info| info.contains("cluster_state:ok"))
            });
        }
    }
}

fn ask<T: redis::FromRedisValue>(connection: &mut Connection, words: &[&str]) -> RedisResult<T> {
    cmd(words[0]).arg(&words[1..]).query(connection)
}

fn offset(connection: &mut Connection, field: &str) -> Option<u64> {
    let info: String = ask(connection, &["INFO", "replication"]).unwrap();
    info.lines().find_map(|line| line.strip_prefix(field)?.parse().ok())
}

/// Whether a server takes another one for a primary with slots.
fn has_slots(connection: &mut Connection, id: &str) -> bool {
    let nodes: String = ask(connection, &["CLUSTER", "NODES"]).unwrap();
    let line = nodes.lines().find(|line| line.starts_with(id)).unwrap_or_default();
    line.contains("master") && line.split(' ').count() > 8
}

fn is_linked(replica: &mut Connection) -> bool {
    let info: String = ask(replica, &["INFO", "replication"]).unwrap();

    info.contains("role:slave") && info.contains("master_link_status:up")
}

fn wait_for_link(replica: &mut Connection) {
    wait(|| is_linked(replica));
}

fn wait(mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "the servers do not agree");
        sleep(Duration::from_millis(10));
    }
}
