//! Final messages: owed from the making of a job on, heard by clients in their turn.

use lingua_core::instance::{Ending, Failure, Final, Opened};
use lingua_core::{InstanceId, Micros};

use crate::Broken;
use crate::world::{OpenJob, World};

impl World {
    /// A job of a session was made: it is offered now. Bare jobs were offered on arrival.
    pub(super) fn job_is_opened(&mut self, server: u16, opened: &Opened) {
        let pair = self.recorder.pair(opened.needs.pair);
        let counted = self.is_counted(self.now);
        self.recorder.offered(self.now, pair, counted);
        let open = OpenJob {
            offered: self.now,
            pair,
            work: -1.0,
            reached: false,
            words: None,
            server,
            counted,
            again: None,
        };
        self.open_job(opened.request, open);
    }

    /// A client's socket keeps the order of what is sent to it.
    pub(super) fn in_turn(&mut self, last: &Final, arrives: Micros) -> Micros {
        let talker = self.talker_of(last.request.session);
        talker.map_or(arrives, |at| self.talkers[at].in_turn(arrives))
    }

    /// A final message reaches its client.
    pub(super) fn client_hears(&mut self, last: &Final) {
        self.digest.add(last.request.session.0 ^ u64::from(last.request.index) << 40);
        let Some(open) = self.open.remove(&last.request) else {
            self.recorder.jobs.duplicate += 1;
            let broken = Broken::new("I6", self.now, format!("{:?} ended twice", last.request));
            self.judge(self.promises.one_final, broken);
            return;
        };
        self.check_turn(last);
        self.recorder.ended(self.now, &owed(&open), last);
        if let Ending::Failed(failure) = last.ending {
            self.recorder.mark(failure.name());
        }
    }

    /// Final messages of a session arrive in the order of its utterances.
    fn check_turn(&mut self, last: &Final) {
        let Some(at) = self.talker_of(last.request.session) else { return };
        if !self.talkers[at].hear(last.request.tgt, last.request.index) {
            self.recorder.jobs.reordered += 1;
            let message = format!("{:?} came after a later one", last.request);
            self.judge(self.promises.one_final, Broken::new("I6", self.now, message));
        }
    }

    /// An instance died: its clients' sockets and the answers it owed died with it.
    pub(super) fn sockets_of_server_close(&mut self, at: u16, id: InstanceId) {
        self.node_sockets_of(id);
        for (request, open) in self.open.take_of(at) {
            if self.ask_again(&open) {
                continue;
            }
            let last = Final {
                request,
                ending: Ending::Failed(Failure::NodeLost),
                sent: open.offered,
                waited: Micros::ZERO,
            };
            self.recorder.ended(self.now, &owed(&open), &last);
            self.recorder.mark("instance_lost");
        }
    }
}

fn owed(open: &OpenJob) -> crate::record::Owed {
    crate::record::Owed { offered: open.offered, pair: open.pair, counted: open.counted }
}
