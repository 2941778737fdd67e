//! The clients' side of the accounts: what they hear.

use super::spoken::Ended;
use super::{End, Observer};
use crate::pacer::Nanos;
use crate::tag::Answer;
use crate::wire::Heard;

/// Which socket of a session and its room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ear {
    /// That of who speaks.
    Own,
    /// That of the room's listener of this number, from 0.
    Listener(u32),
}

/// Whose socket hears something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hearing<'a> {
    pub(crate) session: u32,
    pub(crate) ear: Ear,
    /// Which of its sockets.
    pub(crate) life: u32,
    /// The scheduler's name of who speaks.
    pub(crate) id: &'a str,
    pub(crate) run: u32,
    pub(crate) at: Nanos,
}

/// What a final message says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said<'a> {
    /// An end, and whether it stands in an event that a final message may follow.
    End(End<'a>, bool),
    /// Nothing about an end.
    Nothing,
}

impl Observer {
    /// A client has got a message.
    pub(crate) fn heard(&mut self, hearing: Hearing<'_>, heard: &Heard<'_>) {
        self.came(hearing.at);
        let said = match heard.kind.as_ref() {
            "translation_result" => Said::End(End::Completed, false),
            "missing_result" => Said::End(missing(heard.reason.as_deref().unwrap_or("")), false),
            "error" => Said::End(failure(heard.code.as_deref().unwrap_or("")), false),
            "ui_event" if heard.event.as_deref() == Some("ERROR") => {
                Said::End(failure(heard.error_code.as_deref().unwrap_or("ERROR")), true)
            }
            _ => Said::Nothing,
        };
        let Said::End(end, event) = said else { return };
        let Some(index) = heard.utterance() else { return };
        if heard.session_id.as_deref().is_some_and(|id| id != hearing.id) {
            self.findings.wrong_session += 1;
            return;
        }
        let answer = match end {
            End::Completed if heard.kind == "translation_result" => {
                match heard.text_asr.as_deref().and_then(Answer::parse) {
                    Some(answer) if answer.run == hearing.run => Some(answer),
                    _ => {
                        self.findings.unknown_results += 1;
                        return;
                    }
                }
            }
            _ => None,
        };
        if answer.is_some_and(|answer| answer.session != self.shard.own(hearing.session)) {
            self.findings.wrong_session += 1;
            return;
        }
        let Some((lane, by)) = self.lane_heard(hearing, index, answer) else { return };
        let hearing = Hearing { session: lane as u32, ..hearing };
        let crossing = answer.filter(|_| self.shard.is_part());
        if crossing.is_some_and(|answer| !self.awaits(hearing, index, answer)) {
            return;
        }
        self.ends(hearing, by, index, answer, end, event);
    }

    fn ends(
        &mut self,
        hearing: Hearing<'_>,
        by: u64,
        index: u64,
        answer: Option<Answer<'_>>,
        end: End<'_>,
        event: bool,
    ) {
        let session = hearing.session as usize;
        let speaker = &mut self.speakers[session];
        let known = speaker.units.iter().position(|unit| match answer {
            Some(answer) => unit.first == answer.first,
            None => unit.index == Some(index) && unit.life == hearing.life,
        });
        let current = speaker.life == hearing.life;
        let mut ended = speaker.ended.iter_mut().filter(|ended| ended.life == hearing.life);
        let over = ended.find(|ended| ended.index == index);
        let place = match (known, over) {
            (Some(place), _) => Some(place),
            // An event may tell of a failure before or after its final message.
            (None, Some(ended)) if event || ended.by_event => {
                ended.by_event &= event;
                return;
            }
            (None, Some(_)) => None,
            (None, None) if answer.is_none() => {
                let unseen = self.unseen(session, hearing.life, index, hearing.at);
                self.findings.unplaced_finals += u64::from(unseen.is_none());
                let Some(place) = unseen else { return };
                Some(place)
            }
            (None, None) => None,
        };
        let Some(place) = place else {
            self.jobs.duplicate += 1;
            return;
        };
        let speaker = &mut self.speakers[session];
        let unit = &mut speaker.units[place];
        if unit.heard_by & by != 0 {
            self.jobs.duplicate += 1;
            return;
        }
        unit.heard_by |= by;
        if unit.heard_by != speaker.listeners {
            // The last listener ends it.
            return;
        }
        if !event && current {
            let before = speaker.heard.replace(index.max(speaker.heard.unwrap_or(0)));
            self.jobs.reordered += u64::from(before.is_some_and(|before| before > index));
        }
        let unit = speaker.units.remove(place);
        let (life, first, last) = (hearing.life, unit.first, unit.last);
        speaker.note_ended(Ended { life, index, first, last, by_event: event });
        if unit.attempt == 0 {
            // No node has seen its chunks, and none will.
            let fresh = speaker.cover(unit.first, unit.last);
            if speaker.leads {
                self.chunks.in_refused += u64::from(fresh);
            }
        }
        if answer.is_some_and(|answer| answer.attempt < unit.attempt) {
            self.findings.stale_results += 1;
        }
        let pair = speaker.pair;
        self.close(&unit, pair, end, hearing.at);
    }
}

fn missing(reason: &str) -> End<'_> {
    match reason {
        "silence_detected" | "merged_into_next" => End::Completed,
        "" => End::TimedOut("missing"),
        reason => End::TimedOut(reason),
    }
}

/// Refused is what no node was found for; everything else is a failure.
fn failure(code: &str) -> End<'_> {
    match code {
        "NO_AVAILABLE_NODE" | "NODE_OVERLOADED" | "NO_GPU_AVAILABLE" => End::Refused(code),
        code => End::Failed(code),
    }
}
