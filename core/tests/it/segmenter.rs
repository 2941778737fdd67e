//! The short way for a chunk that only adds to its utterance is the long way, only shorter.

use lingua_core::Micros;
use lingua_core::finalize::{Chunk, FinalizeConfig, PauseDetect, Segmenter};
use proptest::prelude::*;

/// Milliseconds before it, its bytes and milliseconds of audio, and what the client does.
type Heard = (u64, u32, u64, u8);

fn heard() -> impl Strategy<Value = Heard> {
    let before = prop_oneof![4 => 0..200u64, 1 => 2_900..3_100u64, 1 => Just(11_000u64)];
    let bytes = prop_oneof![1 => Just(0u32), 8 => 1..4_000u32, 1 => 100_000..600_000u32];
    let audio = prop_oneof![8 => Just(100u64), 1 => 5_000..21_000u64];
    (before, bytes, audio, 0..20u8)
}

proptest! {
    #[test]
    fn both_ways_cut_alike(all in prop::collection::vec(heard(), 0..120), on_chunk: bool) {
        let pause_detect = if on_chunk { PauseDetect::OnChunk } else { PauseDetect::Timer };
        let config = FinalizeConfig { pause_detect, ..FinalizeConfig::default() };
        let (mut long, mut short) = (Segmenter::default(), Segmenter::default());
        let mut now = Micros::ZERO;
        for (before, bytes, audio, does) in all {
            now = now + Micros::millis(before);
            for segmenter in [&mut long, &mut short] {
                match does {
                    0 => segmenter.play_started(now),
                    1 => segmenter.play_ended(now),
                    _ => {}
                }
            }
            prop_assert_eq!(long.tick(now, &config), short.tick(now, &config));
            let audio = if bytes == 0 { Micros::ZERO } else { Micros::millis(audio) };
            let chunk = Chunk { bytes, audio, is_final: does == 2, sent: now };
            let open = short.is_open();
            let cuts = long.chunk(now, chunk, &config);
            if short.extend(now, &chunk, &config) {
                prop_assert!(open && cuts == [None; 2], "{cuts:?}");
            } else {
                prop_assert_eq!(cuts, short.chunk(now, chunk, &config));
            }
            prop_assert_eq!(format!("{long:?}"), format!("{short:?}"));
        }
    }
}
