//! Memory that is touched before it is needed.
//!
//! Of ten thousand clients hardly one is in a near cache. What the events of a slot will look at is
//! read all at once, when the slot before it begins: together that takes little longer than one of
//! them would alone.

use std::hint::black_box;

use lingua_core::Micros;
use lingua_core::instance::Input;

use crate::world::mail::Mail;
use crate::world::nodes::Node;
use crate::world::talkers::Talker;
use crate::world::{Event, World};

/// With fewer events pending the whole world is in a near cache anyway.
const PENDING_MIN: usize = 2_000;

/// Until the end of the slot after the present one, about.
const SOON: Micros = Micros::millis(2);

impl World {
    /// Touches what the events of the next slot will need. What was read is of no use otherwise.
    pub(super) fn look_ahead(&self) {
        if self.queue.len() < PENDING_MIN {
            return;
        }
        let alone = self.servers.len() == 1;
        let mut touched = 0;
        self.queue.each_upcoming(|event| {
            // Nearly all events are of two kinds, and the processor cannot guess which. So there is no
            // branch on it: where it is the other kind, the first of each is touched.
            let talker = if let Event::Talk(at, _) = event { at } else { 0 };
            let (letter, seat) = match event {
                Event::Chunk(letter, seat) => (letter, seat),
                _ => (0, None),
            };
            let audio = self.audio.peek(letter);
            touched ^= self.talkers.get(talker as usize).map_or(0, Talker::life);
            touched ^= audio.map_or(0, |audio| audio.chunk.bytes);
            let server = if alone { 0 } else { audio.map_or(0, |audio| audio.server) };
            touched ^= self.servers[usize::from(server)].instance().foresee_chunk(seat);
            touched ^= match event {
                Event::Mail(letter) => self.mail.get(letter).map_or(0, |mail| self.foresee(mail)),
                Event::Done(node, _) => self.nodes[node as usize].foresee(),
                _ => 0,
            };
        });
        for server in &self.servers {
            touched ^= server.instance().foresee_hangovers(self.now + SOON);
        }
        black_box(touched);
    }

    fn foresee(&self, mail: &Mail) -> u32 {
        match mail {
            Mail::Input(to, Input::Answer(node, answer)) => {
                let server = self.server_of.get(to).map(|&at| &self.servers[usize::from(at)]);
                let request = server.and_then(|server| server.instance().foresee(answer.job));
                request.map_or(0, |request| self.watch.state().foresee(node.num, &request))
            }
            Mail::Assign(assign) => {
                let node = self.node_of_num.get(assign.node.num.index());
                node.and_then(|&at| self.nodes.get(at as usize)).map_or(0, Node::foresee)
            }
            Mail::Final(_, last) => self.open.get(&last.request).map_or(0, |open| open.pair),
            _ => 0,
        }
    }
}
