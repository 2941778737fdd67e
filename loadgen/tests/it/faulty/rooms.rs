//! Rooms: who hears whom in which language.

use serde_json::{Value, json};

use super::frames;
use super::hub::Hub;
use super::sockets::SocketId;

#[derive(Debug, Default)]
pub(super) struct Room {
    /// Sessions and the language each wants to hear.
    members: Vec<(String, Option<String>)>,
}

impl Hub {
    pub(super) fn room_says(
        &mut self,
        socket: SocketId,
        kind: &str,
        said: &Value,
    ) -> Result<(), (&'static str, &'static str)> {
        let own = self.sessions.iter().rfind(|(_, session)| session.socket == socket);
        let Some(id) = own.map(|(id, _)| id.clone()) else {
            return Err(("INTERNAL_ERROR", "Session not initialized"));
        };
        let lang = said["preferred_lang"].as_str().map(str::to_owned);
        let code = match kind {
            "room_create" => {
                let code = (100_000 + self.number()).to_string();
                self.rooms.insert(code.clone(), Room::default());
                self.send(socket, &json!({"type": "room_create_ack", "room_code": code}));
                code
            }
            _ => frames::text(said, "room_code"),
        };
        let Some(room) = self.rooms.get_mut(&code) else {
            let error = json!({"type": "room_error", "code": "ROOM_NOT_FOUND"});
            self.send(socket, &error);
            return Ok(());
        };
        room.members.retain(|(member, _)| *member != id);
        if kind != "room_leave" {
            room.members.push((id, lang));
        }
        self.tell_members(&code);
        Ok(())
    }

    fn tell_members(&self, code: &str) {
        let members = &self.rooms[code].members;
        let shown: Vec<Value> = members
            .iter()
            .map(|(id, lang)| {
                json!({"participant_id": id, "session_id": id, "preferred_lang": lang,
                    "joined_at": "2026-01-01T00:00:00Z"})
            })
            .collect();
        let told = json!({"type": "room_members", "room_code": code, "members": shown});
        for (id, _) in members {
            self.send(self.sessions[id].socket, &told);
        }
    }

    pub(super) fn leave_rooms(&mut self, id: &str) {
        for room in self.rooms.values_mut() {
            room.members.retain(|(member, _)| member != id);
        }
    }

    /// The languages in which a session is heard by others, each with its listeners.
    pub(super) fn listeners(&self, speaker: &str) -> Vec<(String, Vec<String>)> {
        let is_in = |room: &&Room| room.members.iter().any(|(member, _)| member == speaker);
        let mut groups: Vec<(String, Vec<String>)> = Vec::new();
        for (member, lang) in
            self.rooms.values().find(is_in).into_iter().flat_map(|room| &room.members)
        {
            let Some(lang) = lang.as_ref().filter(|_| member != speaker) else { continue };
            match groups.iter_mut().find(|(known, _)| known == lang) {
                Some((_, members)) => members.push(member.clone()),
                None => groups.push((lang.clone(), vec![member.clone()])),
            }
        }
        groups
    }
}
