//! Base64, and how long audio sounds.

use lingua_protocol::audio::{OpusFramingError, OpusPackets, opus_us, pcm16_us, push_opus_packet};
use lingua_protocol::{Base64, FromSession, SampleRate};
use proptest::prelude::*;

#[test]
fn pcm16_of_16_khz_has_32_bytes_a_millisecond() {
    let rate = SampleRate::new(16_000).unwrap();
    assert_eq!(pcm16_us(3_200, rate), 100_000);
    assert_eq!(pcm16_us(3_201, rate), 100_000);
    assert_eq!(pcm16_us(2, rate), 62);
    assert_eq!(pcm16_us(0, rate), 0);
    assert_eq!(pcm16_us(96_000, SampleRate::new(48_000).unwrap()), 1_000_000);
}

#[test]
fn each_opus_packet_sounds_20_ms() {
    let mut audio = Vec::new();
    for length in [1, 60, 255, 256, 1_275] {
        push_opus_packet(&vec![7; length], &mut audio).unwrap();
    }
    assert_eq!(opus_us(&audio), Ok(100_000));
    assert_eq!(opus_us(&[]), Ok(0));
    let lengths: Vec<_> = OpusPackets::new(&audio).map(|packet| packet.unwrap().len()).collect();
    assert_eq!(lengths, [1, 60, 255, 256, 1_275]);
}

#[test]
fn bad_framing_says_where() {
    let cases: [(&[u8], &str); 5] = [
        (&[1, 0, 9, 5], "the length at byte 3 is cut off: send two bytes, little endian"),
        (&[0, 0], "the packet at byte 0 has 0 bytes: an Opus packet has 1 to 1275"),
        (&[0xfc, 4, 0], "the packet at byte 0 has 1276 bytes: an Opus packet has 1 to 1275"),
        (
            &[1, 0, 9, 3, 0, 9],
            "the packet at byte 3 has 3 bytes, but 1 are left: send whole packets",
        ),
        (&[5], "the length at byte 0 is cut off: send two bytes, little endian"),
    ];
    for (audio, text) in cases {
        assert_eq!(opus_us(audio).unwrap_err().to_string(), text);
        // After an error the row of packets ends.
        assert!(OpusPackets::new(audio).skip_while(Result::is_ok).nth(1).is_none());
    }
    let mut out = vec![1];
    assert_eq!(
        push_opus_packet(&[0; 1_276], &mut out),
        Err(OpusFramingError::Length { at: 1, length: 1_276 })
    );
    assert_eq!(out, [1]);
}

#[test]
fn a_payload_is_borrowed_from_the_frame() {
    let frame =
        r#"{"type":"audio_chunk","session_id":"s","seq":1,"is_final":false,"payload":"AQI="}"#;
    let FromSession::AudioChunk(chunk) = FromSession::parse(frame).unwrap() else {
        panic!("another message");
    };
    let payload = chunk.payload.unwrap();
    assert!(frame.as_bytes().as_ptr_range().contains(&payload.as_str().as_ptr()));
    let mut bytes = vec![0];
    assert_eq!(payload.decode(&mut bytes), Ok(2));
    assert_eq!(bytes, [0, 1, 2]);
}

#[test]
fn an_escaped_slash_is_base64_too() {
    let frame =
        r#"{"type":"audio_chunk","session_id":"s","seq":1,"is_final":false,"payload":"\/\/8="}"#;
    let Ok(FromSession::AudioChunk(chunk)) = FromSession::parse(frame) else {
        panic!("another message");
    };
    let mut bytes = Vec::new();
    assert_eq!(chunk.payload.unwrap().decode(&mut bytes), Ok(2));
    assert_eq!(bytes, [0xff, 0xff]);
}

#[test]
fn what_is_not_base64_leaves_the_buffer_as_it_was() {
    let mut bytes = vec![9];
    for text in ["A", "AQI", "AQ==AQ==", "A*==", "AQI=\n", "é"] {
        assert!(Base64::from_text(text).decode(&mut bytes).is_err(), "{text}");
        assert_eq!(bytes, [9]);
    }
    assert_eq!(
        Base64::from_text("A*==").decode(&mut bytes).unwrap_err().to_string(),
        "`A*==` is not base64, Invalid symbol 42, offset 1.: send the standard alphabet with padding"
    );
}

proptest! {
    #[test]
    fn bytes_come_back_from_base64(bytes: Vec<u8>) {
        let mut back = Vec::new();
        prop_assert_eq!(Base64::encode(&bytes).decode(&mut back), Ok(bytes.len()));
        prop_assert_eq!(back, bytes);
    }

    #[test]
    fn any_bytes_are_measured_without_panic(bytes: Vec<u8>) {
        let _ = opus_us(&bytes);
    }

    #[test]
    fn packets_come_back_from_their_row(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..1_276), 0..8)) {
        let mut audio = Vec::new();
        for packet in &packets {
            push_opus_packet(packet, &mut audio).unwrap();
        }
        let back: Vec<_> = OpusPackets::new(&audio).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(back, packets);
    }
}
