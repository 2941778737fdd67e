//! Two frames of every message: the smallest, and one with every field.

/// A message as peers write it.
#[derive(Clone, Copy)]
pub(crate) struct Frames {
    pub(crate) smallest: &'static str,
    pub(crate) full: &'static str,
}

const fn frames(smallest: &'static str, full: &'static str) -> Frames {
    Frames { smallest, full }
}

const fn frame(only: &'static str) -> Frames {
    Frames { smallest: only, full: only }
}

pub(crate) const FROM_NODE: &[Frames] = &[
    frames(
        r#"{"type":"node_register","version":"3.1.0","platform":"linux","hardware":{"cpu_cores":4,"memory_gb":8},"installed_models":[],"capability_by_type":[],"features_supported":{},"accept_public_jobs":true}"#,
        r#"{"type":"node_register","node_id":"kiosk-7","version":"3.1.0","capability_schema_version":"2.0","platform":"win32","hardware":{"cpu_cores":16,"memory_gb":64,"gpus":[{"name":"Card A","memory_gb":12}]},"installed_models":[{"model_id":"org/asr-large@3","kind":"asr","version":"3","src_lang":"fr","tgt_lang":"de","dialect":"ch","enabled":true}],"installed_services":[{"service_id":"hear-1","type":"asr","device":"gpu","status":"running","version":"3","model_id":"org/asr-large@3","engine":"torch","mem_mb":2048,"warmup_ms":900,"last_error":"once"},{"service_id":"dots","type":"punctuation","device":"cpu","status":"stopped"}],"capability_by_type":[{"type":"asr","ready":true,"reason":"loaded","ready_impl_ids":["hear-1"]},{"type":"tone","ready":false}],"features_supported":{"emotion":false,"streaming":true},"advanced_features":["a",{"b":1}],"accept_public_jobs":false,"language_capabilities":{"asr_languages":["fr","de"],"semantic_languages":["fr"],"tts_languages":["de","pt-BR"],"semantic_core_ready":true},"max_jobs":4}"#,
    ),
    frames(
        r#"{"type":"node_heartbeat","node_id":"kiosk-7","timestamp":1700000000000,"resource_usage":{"cpu_percent":12.5,"mem_percent":40.0,"running_jobs":0},"installed_services":[],"capability_by_type":[]}"#,
        r#"{"type":"node_heartbeat","node_id":"kiosk-7","timestamp":-1,"resource_usage":{"cpu_percent":12.5,"gpu_percent":-1.0,"gpu_mem_percent":0.25,"mem_percent":40.0,"running_jobs":3},"installed_models":[{"model_id":"m","kind":"tts","version":"1"}],"installed_services":[{"service_id":"say","type":"tts","device":"cpu","status":"error"}],"capability_by_type":[{"type":"semantic","ready":true}],"rerun_metrics":{"totalReruns":9,"successfulReruns":5,"failedReruns":3,"timeoutReruns":1,"qualityImprovements":4},"asr_metrics":{"processingEfficiency":3.5},"processing_metrics":{"serviceEfficiencies":{"hear-1":2.25,"say":8.0}},"language_capabilities":{"asr_languages":[],"tts_languages":["sw"]},"max_jobs":1024}"#,
    ),
    frame(
        r#"{"type":"job_ack","job_id":"job-a1","attempt_id":1,"node_id":"kiosk-7","session_id":"s-0A","trace_id":"t/1"}"#,
    ),
    frame(
        r#"{"type":"job_started","job_id":"job-a1","attempt_id":2,"node_id":"kiosk-7","session_id":"s-0A","trace_id":"t/1"}"#,
    ),
    frame(
        r#"{"type":"asr_partial","job_id":"job-a1","node_id":"kiosk-7","session_id":"s-0A","utterance_index":5,"text":"bonj","is_final":false,"trace_id":"t/1"}"#,
    ),
    frames(
        r#"{"type":"job_result","job_id":"job-a1","attempt_id":1,"node_id":"kiosk-7","session_id":"s-0A","utterance_index":5,"success":false,"trace_id":"t/1"}"#,
        r#"{"type":"job_result","job_id":"job-a1","attempt_id":1,"node_id":"kiosk-7","session_id":"s-0A","utterance_index":5,"success":true,"text_asr":"bonjour \"toi\"","text_translated":"hallo\n你好","tts_audio":"AQIDBA==","tts_format":"opus","extra":{"emotion":"calm","speech_rate":1.25,"voice_style":"soft","service_timings":{"asr_ms":30,"nmt_ms":20,"tts_ms":40,"total_ms":90},"language_probability":0.75,"language_probabilities":{"de":0.25,"fr":0.75},"reason":"ASR_EMPTY"},"processing_time_ms":90,"error":{"code":"MODEL_NOT_AVAILABLE","message":"no such model","details":{"service_id":"say","reason":"gone"}},"trace_id":"t/1","group_id":"group_s-0A_17","part_index":2,"node_completed_at_ms":1700000000090,"asr_quality_level":"suspect","reason_codes":["LOW"],"quality_score":0.5,"rerun_count":1,"segments_meta":{"count":3,"max_gap":0.75,"avg_duration":1.5}}"#,
    ),
    frames(
        r#"{"type":"node_error","node_id":"kiosk-7","code":"DISK_FULL","message":"no room"}"#,
        r#"{"type":"node_error","node_id":"kiosk-7","code":"MODEL_CORRUPTED","message":"bad sum","details":[1,2,{"x":null}]}"#,
    ),
];

pub(crate) const TO_NODE: &[Frames] = &[
    frame(
        r#"{"type":"node_register_ack","node_id":"node-00FF","message":"welcome","status":"registering"}"#,
    ),
    frames(
        r#"{"type":"job_assign","job_id":"job-a1","attempt_id":1,"session_id":"s-0A","utterance_index":0,"src_lang":"fr","tgt_lang":"de","pipeline":{"use_asr":true,"use_nmt":true,"use_tts":true,"use_semantic":false,"use_tone":false},"audio":"","audio_format":"opus","sample_rate":16000,"trace_id":"t/1"}"#,
        r#"{"type":"job_assign","job_id":"job-a1","attempt_id":2,"session_id":"s-0A","utterance_index":7,"src_lang":"auto","tgt_lang":"de","dialect":"ch","features":{"emotion":true},"pipeline":{"use_asr":true,"use_nmt":true,"use_tts":false,"use_semantic":true,"use_tone":true},"audio":"AAECAwQF","audio_format":"pcm16","sample_rate":48000,"mode":"two_way_auto","lang_a":"fr","lang_b":"de","auto_langs":["fr","de"],"enable_streaming_asr":true,"partial_update_interval_ms":1000,"trace_id":"t/1","padding_ms":280,"is_manual_cut":true,"is_timeout_triggered":true,"is_max_duration_triggered":true,"turn_id":"turn-3","group_id":"group_s-0A_17","part_index":0,"context_text":"vorher"}"#,
    ),
    frames(
        r#"{"type":"job_cancel","job_id":"job-a1"}"#,
        r#"{"type":"job_cancel","job_id":"job-a1","trace_id":"t/1","reason":"job_timeout"}"#,
    ),
    frames(
        r#"{"type":"node_control","command":"drain"}"#,
        r#"{"type":"node_control","command":"drain","reason":"update"}"#,
    ),
    frames(
        r#"{"type":"error","code":"NODE_ID_CONFLICT","message":"taken over"}"#,
        r#"{"type":"error","code":"INVALID_MESSAGE","message":"see details","details":{"field":"max_jobs"}}"#,
    ),
];

pub(crate) const FROM_SESSION: &[Frames] = &[
    frames(
        r#"{"type":"session_init","client_version":"kiosk 2","platform":"web","src_lang":"fr","tgt_lang":"de"}"#,
        r#"{"type":"session_init","client_version":"kiosk 2","platform":"ios","src_lang":"auto","tgt_lang":"de","dialect":"ch","features":{"emotion":true},"pairing_code":"12 34","tenant_id":"acme","mode":"one_way","lang_a":"fr","lang_b":"de","auto_langs":["fr","de"],"enable_streaming_asr":false,"partial_update_interval_ms":500,"trace_id":"t/1"}"#,
    ),
    frames(
        r#"{"type":"audio_chunk","session_id":"s-0A","seq":0,"is_final":true}"#,
        r#"{"type":"audio_chunk","session_id":"s-0A","seq":18446744073709551615,"is_final":false,"payload":"AwABAgM=","client_timestamp_ms":1700000000000}"#,
    ),
    frames(
        r#"{"type":"utterance","session_id":"s-0A","utterance_index":0,"manual_cut":true,"src_lang":"fr","tgt_lang":"de","audio":"AAA=","audio_format":"pcm16","sample_rate":16000}"#,
        r#"{"type":"utterance","session_id":"s-0A","utterance_index":3,"manual_cut":false,"src_lang":"fr","tgt_lang":"de","dialect":"ch","features":{},"audio":"AAA=","audio_format":"wav","sample_rate":8000,"trace_id":"t/2","pipeline":{"use_asr":true,"use_nmt":true,"use_tts":false,"use_semantic":false,"use_tone":false}}"#,
    ),
    frame(r#"{"type":"client_heartbeat","session_id":"s-0A","timestamp":1700000000000}"#),
    frame(r#"{"type":"session_close","session_id":"s-0A","reason":""}"#),
    frame(
        r#"{"type":"tts_started","session_id":"s-0A","trace_id":"t/1","group_id":"group_s-0A_17","ts_start_ms":17}"#,
    ),
    frame(
        r#"{"type":"tts_play_ended","session_id":"s-0A","trace_id":"t/1","group_id":"group_s-0A_17","ts_end_ms":18}"#,
    ),
    frames(
        r#"{"type":"room_create","client_ts":17}"#,
        r#"{"type":"room_create","client_ts":17,"display_name":"Zoë","preferred_lang":"de"}"#,
    ),
    frames(
        r#"{"type":"room_join","room_code":"123456"}"#,
        r#"{"type":"room_join","room_code":"123456","display_name":"Li","preferred_lang":"sw"}"#,
    ),
    frame(r#"{"type":"room_leave","room_code":"123456"}"#),
    frame(
        r#"{"type":"room_raw_voice_preference","room_code":"123456","target_session_id":"s-0B","receive_raw_voice":false}"#,
    ),
    frame(
        r#"{"type":"webrtc_offer","room_code":"123456","to":"s-0B","sdp":{"type":"offer","sdp":"v=0\r\n"}}"#,
    ),
    frame(r#"{"type":"webrtc_answer","room_code":"123456","to":"s-0A","sdp":"v=0"}"#),
    frame(
        r#"{"type":"webrtc_ice","room_code":"123456","to":"s-0A","candidate":{"candidate":"x","sdpMLineIndex":0.0}}"#,
    ),
];

pub(crate) const TO_SESSION: &[Frames] = &[
    frames(
        r#"{"type":"session_init_ack","session_id":"s-0A","message":"open","trace_id":"t/1","protocol_version":"1.0","use_binary_frame":false,"negotiated_codec":"opus","negotiated_audio_format":"opus","negotiated_sample_rate":16000,"negotiated_channel_count":1}"#,
        r#"{"type":"session_init_ack","session_id":"s-0A","assigned_node_id":"kiosk-7","message":"open","trace_id":"t/1","protocol_version":"1.0","use_binary_frame":true,"negotiated_codec":"pcm16","negotiated_audio_format":"pcm16","negotiated_sample_rate":16000,"negotiated_channel_count":2}"#,
    ),
    frames(
        r#"{"type":"ui_event","trace_id":"t/1","session_id":"s-0A","job_id":"","utterance_index":0,"event":"ASR_PARTIAL","status":"ok"}"#,
        r#"{"type":"ui_event","trace_id":"t/1","session_id":"s-0A","job_id":"job-a1","utterance_index":1,"event":"ERROR","elapsed_ms":60000,"status":"error","error_code":"NO_AVAILABLE_NODE","hint":"try again"}"#,
    ),
    frame(
        r#"{"type":"asr_partial","session_id":"s-0A","utterance_index":0,"job_id":"","text":"bonj","is_final":false,"trace_id":"t/1"}"#,
    ),
    frames(
        r#"{"type":"translation_result","session_id":"s-0A","utterance_index":0,"job_id":"job-a1","text_asr":"","text_translated":"","tts_audio":"","tts_format":"pcm16","trace_id":"t/1"}"#,
        r#"{"type":"translation_result","session_id":"s-0A","utterance_index":0,"job_id":"job-a1","text_asr":"bonjour","text_translated":"hallo","tts_audio":"AQID","tts_format":"opus","extra":{"reason":"OTHER"},"trace_id":"t/1","group_id":"group_s-0A_17","part_index":0,"service_timings":{"asr_ms":30},"network_timings":{"web_to_scheduler_ms":1,"scheduler_to_node_ms":2,"node_to_scheduler_ms":3,"scheduler_to_web_ms":4},"scheduler_sent_at_ms":1700000000100,"asr_quality_level":"good","reason_codes":[],"quality_score":1.0,"rerun_count":0,"segments_meta":{"count":1,"max_gap":0.0,"avg_duration":2.0}}"#,
    ),
    frames(
        r#"{"type":"missing_result","session_id":"s-0A","utterance_index":2,"reason":"merged_into_next","created_at_ms":17}"#,
        r#"{"type":"missing_result","session_id":"s-0A","utterance_index":2,"reason":"new_reason","created_at_ms":17,"trace_id":"t/1"}"#,
    ),
    frames(
        r#"{"type":"error","code":"DISK_FULL","message":""}"#,
        r#"{"type":"error","code":"NO_AVAILABLE_NODE","message":"all nodes are busy","details":{"utterance_index":4,"retryable":true}}"#,
    ),
    frame(r#"{"type":"server_heartbeat","session_id":"s-0A","timestamp":17}"#),
    frame(r#"{"type":"session_close_ack","session_id":"s-0A"}"#),
    frames(
        r#"{"type":"backpressure","action":"PAUSE"}"#,
        r#"{"type":"backpressure","action":"SLOW_DOWN","resume_after_ms":500,"message":"busy"}"#,
    ),
    frames(
        r#"{"type":"room_create_ack","room_code":"123456"}"#,
        r#"{"type":"room_create_ack","room_code":"123456","room_id":"9f-1"}"#,
    ),
    frames(
        r#"{"type":"room_members","room_code":"123456","members":[]}"#,
        r#"{"type":"room_members","room_code":"123456","members":[{"participant_id":"p1","session_id":"s-0A","joined_at":"2026-01-02T03:04:05Z"},{"participant_id":"p2","session_id":"s-0B","display_name":"Li","preferred_lang":"sw","raw_voice_preferences":{"s-0A":true},"joined_at":"2026-01-02T03:04:06Z"}]}"#,
    ),
    frames(
        r#"{"type":"room_error","code":"ROOM_NOT_FOUND"}"#,
        r#"{"type":"room_error","code":"ROOM_FULL","message":"no seat"}"#,
    ),
    frame(r#"{"type":"room_expired","room_code":"123456","message":"nobody spoke"}"#),
    frame(
        r#"{"type":"webrtc_offer","room_code":"123456","to":"s-0A","sdp":{"type":"offer","sdp":"v=0"}}"#,
    ),
    frame(r#"{"type":"webrtc_answer","room_code":"123456","to":"s-0A","sdp":null}"#),
    frame(r#"{"type":"webrtc_ice","room_code":"123456","to":"s-0A","candidate":[]}"#),
];
