//! The board of duties in the store: the steps of `lingua_core::claim`, each one script.

use std::sync::Arc;

use lingua_core::claim::{
    Change, DutyId, Event, Holder, Join, Member, Membership, Op, Reply, Token, View,
};
use lingua_core::{InstanceId, Micros};
use tokio::sync::mpsc;

use crate::call::Call;
use crate::reply::Answer;
use crate::script::Step;
use crate::{Store, StoreError, keys};

impl Store {
    /// One atomic step at the board of duties. `now` is the caller's time, which counts where the
    /// store's does not.
    ///
    /// # Errors
    /// The store did not answer, or not as it should. The step may have been carried out; a view
    /// tells.
    pub async fn duty(&self, now: Micros, op: &Op) -> Result<Reply, StoreError> {
        let mut answer = self.run(now, &call(op)).await?;
        let reply = reply(op, &mut answer)?;
        answer.end()?;
        Ok(reply)
    }

    /// Counts a run of a duty: how many there have been; absent where somebody has come after this
    /// token.
    ///
    /// # Errors
    /// The store did not answer, or not as it should. It may have been written.
    pub async fn duty_ran(
        &self,
        now: Micros,
        duty: DutyId,
        holder: Holder,
    ) -> Result<Option<u64>, StoreError> {
        let args = [duty.0.to_string(), holder.token.0.to_string(), holder.instance.0.to_string()];
        let call = Call { step: Step::Work, keys: vec![keys::WORK.to_owned()], args: args.into() };
        let mut answer = self.run(now, &call).await?;
        let runs = match answer.int::<u8>()? {
            0 => Some(answer.int()?),
            1 => None,
            _ => return Err(answer.wrong()),
        };
        answer.end()?;
        Ok(runs)
    }

    /// Listens for changes at the board for good. Those that come while the connection is down, or
    /// find no room, are lost.
    pub async fn hear_duties(self, events: mpsc::Sender<Event>) {
        self.listen(keys::DUTIES_CHANGED, events, |told| told.and_then(event)).await;
    }
}

fn call(op: &Op) -> Call {
    let of = |name: &str, args: &[u64]| {
        let args = args.iter().map(u64::to_string);
        let args = std::iter::once(name.to_owned()).chain(args).collect();
        Call { step: Step::Duties, keys: keys::DUTIES.map(str::to_owned).into(), args }
    };
    let instance = |instance: InstanceId| u64::from(instance.0);
    let duty = |duty: DutyId| u64::from(duty.0);
    match *op {
        Op::Join(Join { instance: id, lease, .. }) => of("join", &[instance(id), lease.0]),
        Op::Renew(own, _) => of("renew", &[instance(own.instance), own.token.0]),
        Op::Leave(own) => of("leave", &[instance(own.instance), own.token.0]),
        Op::Create(id) => of("create", &[duty(id)]),
        Op::Remove(id) => of("remove", &[duty(id)]),
        Op::Claim(id, own) => of("claim", &[duty(id), instance(own.instance), own.token.0]),
        Op::Release(id, token) => of("release", &[duty(id), token.0]),
        Op::Drain { instance: id, force } => of("drain", &[instance(id), force.into()]),
        Op::EndDrain(id) => of("end-drain", &[instance(id)]),
        Op::Look(_) => of("look", &[]),
    }
}

/// Codes of a reply.
const DONE: u8 = 0;
const NO: u8 = 1;
const FULL: u8 = 2;
const UNKNOWN: u8 = 3;

fn reply(op: &Op, answer: &mut Answer) -> Result<Reply, StoreError> {
    if let Op::Look(cause) = *op {
        return Ok(Reply::View(cause, Arc::new(view(answer)?)));
    }
    let code = answer.int::<u8>()?;
    Ok(match (op.clone(), code) {
        (Op::Join(Join { instance, sent, .. }), DONE) => {
            Reply::Joined(Membership { instance, token: Token(answer.int()?) }, sent)
        }
        (Op::Join(_), NO) => Reply::Duplicate,
        (Op::Renew(own, sent), DONE) => Reply::Renewed(own, sent),
        (Op::Renew(own, _), NO) => Reply::Ended(own),
        (Op::Leave(own), DONE) | (Op::Claim(_, own), UNKNOWN) => Reply::Ended(own),
        (Op::Claim(duty, _), DONE) => Reply::Claimed(duty, Token(answer.int()?)),
        (Op::Claim(duty, _), NO) => Reply::Taken(duty),
        (Op::Release(duty, token), DONE) => Reply::Released(duty, token),
        (Op::Drain { .. }, NO) => Reply::Draining(InstanceId(answer.int()?)),
        (Op::Drain { instance, .. } | Op::EndDrain(instance), UNKNOWN) => Reply::Unknown(instance),
        (Op::Join(_) | Op::Create(_), FULL) => Reply::Full,
        (Op::Create(_) | Op::Remove(_) | Op::Drain { .. } | Op::EndDrain(_), DONE) => Reply::Done,
        _ => return Err(answer.wrong()),
    })
}

fn view(answer: &mut Answer) -> Result<View, StoreError> {
    let version = Token(answer.int()?);
    let (members, duties) = (answer.map()?, answer.map()?);
    // What cannot be read is nobody's there, and is left out here.
    let mut members: Vec<_> = members.iter().filter_map(|(id, is)| member(id, is)).collect();
    let mut duties: Vec<_> = duties.iter().filter_map(|(id, is)| held(id, is)).collect();
    members.sort_unstable_by_key(|member| member.membership.instance);
    duties.sort_unstable_by_key(|&(duty, _)| duty);
    Ok(View { version, duties, members })
}

/// `token lease draining`, as the script writes it.
fn member(id: &str, stored: &str) -> Option<Member> {
    let mut parts = stored.split(' ');
    let token = Token(parts.next()?.parse().ok()?);
    let draining = parts.nth(1)? == "1";
    let membership = Membership { instance: InstanceId(id.parse().ok()?), token };
    parts.next().is_none().then_some(Member { membership, draining })
}

/// `instance token`; anything else is nobody, as the script has it.
fn held(id: &str, stored: &str) -> Option<(DutyId, Option<Holder>)> {
    let holder = stored.split_once(' ').and_then(|(instance, token)| {
        let instance = InstanceId(instance.parse().ok()?);
        Some(Holder { instance, token: Token(token.parse().ok()?) })
    });
    Some((DutyId(id.parse().ok()?), holder))
}

/// `what id version`, as the script tells it.
fn event(told: &str) -> Option<Event> {
    let mut parts = told.split(' ');
    let (what, id) = (parts.next()?, parts.next()?);
    let version = Token(parts.next()?.parse().ok()?);
    let duty = || id.parse().ok().map(DutyId);
    let instance = || id.parse().ok().map(InstanceId);
    let change = match what {
        "created" => Change::Created(duty()?),
        "removed" => Change::Removed(duty()?),
        "released" => Change::Released(duty()?),
        "joined" => Change::Joined(instance()?),
        "left" => Change::Left(instance()?),
        "drain" => Change::Drain(instance()?),
        "end-drain" => Change::EndDrain(instance()?),
        _ => return None,
    };
    parts.next().is_none().then_some(Event { version, change })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_are_told() {
        let version = Token(1_900_000_000_000_007);
        let told = |text: &str| event(&format!("{text} {}", version.0)).map(|told| told.change);
        assert_eq!(told("released 7"), Some(Change::Released(DutyId(7))));
        assert_eq!(told("end-drain 3"), Some(Change::EndDrain(InstanceId(3))));
        for text in ["released", "released x", "released 70000000000", "lost 7", "left 1 2", ""] {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn what_nobody_holds_is_told_so() {
        assert_eq!(held("5", "-"), Some((DutyId(5), None)));
        let holder = Holder { instance: InstanceId(2), token: Token(9) };
        assert_eq!(held("5", "2 9"), Some((DutyId(5), Some(holder))));
        assert_eq!(held("five", "2 9"), None);
        assert_eq!(member("2", "9 10000000 2 1"), None);
    }
}
