//! Memory that is touched before it is needed.
//!
//! Of ten thousand clients hardly one is in a near cache. What the events of a slot will look at is
//! read all at once, when the slot before it begins: together that takes little longer than one of
//! them would alone.

use std::hint::black_box;

use lingua_core::instance::Input;

use crate::world::mail::Mail;
use crate::world::nodes::Node;
use crate::world::talkers::Talker;
use crate::world::{Event, World};

/// Events of the queue in a cache line.
const LINE: usize = 4;

/// With fewer events pending the whole world is in a near cache anyway.
const PENDING_MIN: usize = 2_000;

impl World {
    /// Touches what the events of the next slot will need. What was read is of no use otherwise.
    pub(super) fn look_ahead(&self) {
        if self.queue.len() < PENDING_MIN {
            return;
        }
        let mut touched = 0;
        for event in self.queue.upcoming(1).step_by(LINE) {
            touched ^= u32::from(event.kind());
        }
        // No branch on the kinds of nearly all events, which nobody could foretell: else the first
        // of each is touched. First what the event names, then what that names.
        for event in self.queue.upcoming(0) {
            let talker = if let Event::Talk(at, _) = event { at } else { 0 };
            let audio = self.audio.peek(letter_of(event));
            touched ^= self.talkers.get(talker as usize).map_or(0, Talker::life);
            touched ^= audio.map_or(0, |audio| audio.chunk.bytes);
        }
        for event in self.queue.upcoming(0) {
            if let Some(audio) = self.audio.peek(letter_of(event)) {
                let instance = self.servers[usize::from(audio.server)].instance();
                touched ^= audio.seat.map_or(0, |seat| instance.utterances(seat));
            }
            touched ^= match event {
                Event::Mail(letter) => self.mail.get(letter).map_or(0, |mail| self.foresee(mail)),
                Event::Done(node, _) => self.nodes[node as usize].foresee(),
                Event::Tick(server) => self.servers[usize::from(server)].instance().foresee_tick(),
                _ => 0,
            };
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

fn letter_of(event: Event) -> u32 {
    if let Event::Chunk(letter) = event { letter } else { 0 }
}
