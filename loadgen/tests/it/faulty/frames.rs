//! Messages as JSON values: what is required of them, and those that the scheduler sends.

use serde_json::{Value, json};

/// The message in a frame, if it is one: its fields have the right types.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let kind = value["type"].as_str().ok_or("type is missing")?;
    let fields = match kind {
        "session_init" => "client_version:s platform:s src_lang:s tgt_lang:s",
        "audio_chunk" => "session_id:s seq:n is_final:b",
        "utterance" => "session_id:s utterance_index:n manual_cut:b audio:s",
        "client_heartbeat" => "session_id:s timestamp:n",
        "session_close" => "session_id:s reason:s",
        "tts_started" | "tts_play_ended" => "session_id:s",
        "room_create" => "client_ts:n",
        "room_join" | "room_leave" => "room_code:s",
        "node_register" => "version:s platform:s hardware:o accept_public_jobs:b",
        "node_heartbeat" => "node_id:s timestamp:n resource_usage:o",
        "job_ack" | "job_started" => "job_id:s attempt_id:n node_id:s",
        "asr_partial" => "job_id:s node_id:s session_id:s utterance_index:n text:s",
        "job_result" => {
            "job_id:s attempt_id:n node_id:s session_id:s utterance_index:n success:b trace_id:s"
        }
        "node_error" => "node_id:s code:s",
        _ => return Err(format!("unknown type {kind}")),
    };
    for field in fields.split(' ') {
        let (name, shape) = field.split_once(':').unwrap();
        let value = &value[name];
        let fits = match shape {
            "s" => value.is_string(),
            "n" => value.is_i64() || value.is_u64(),
            "b" => value.is_boolean(),
            _ => value.is_object(),
        };
        if !fits {
            return Err(format!("{name} is missing or of the wrong type"));
        }
    }
    Ok(value)
}

/// Text of a field that [`parse`] has checked.
pub(super) fn text(message: &Value, field: &str) -> String {
    message[field].as_str().unwrap_or_default().to_owned()
}

pub(super) fn error(code: &str, message: &str) -> Value {
    json!({"type": "error", "code": code, "message": message})
}

pub(super) fn init_ack(session: &str, trace: &str) -> Value {
    json!({"type": "session_init_ack", "session_id": session, "message": "session created",
        "trace_id": trace, "protocol_version": "1.0", "use_binary_frame": false,
        "negotiated_codec": "opus", "negotiated_audio_format": "opus",
        "negotiated_sample_rate": 16_000, "negotiated_channel_count": 1})
}

/// The two messages by which a session learns that there will be no translation.
pub(super) fn failure(session: &str, trace: &str, index: u64, code: &str) -> Vec<Value> {
    let mut told = error(code, "the utterance was not translated");
    told["details"] = json!({"utterance_index": index, "retryable": true});
    let event = json!({"type": "ui_event", "trace_id": trace, "session_id": session, "job_id": "",
        "utterance_index": index, "event": "ERROR", "status": "error", "error_code": code});
    vec![told, event]
}

/// What a session hears of a result.
pub(super) fn translation(result: &Value) -> Value {
    json!({"type": "translation_result", "session_id": result["session_id"],
        "utterance_index": result["utterance_index"], "job_id": result["job_id"],
        "text_asr": text(result, "text_asr"), "text_translated": text(result, "text_translated"),
        "tts_audio": text(result, "tts_audio"), "tts_format": "pcm16",
        "trace_id": result["trace_id"]})
}
