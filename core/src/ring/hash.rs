//! A hash that is the same in every process, on every machine and in every version.

const START: u64 = 0x243f_6a88_85a3_08d3;
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hash of a name. Not for keys that an attacker chooses to make collide.
pub fn hash(name: &[u8]) -> u64 {
    let words = name.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    finish(words.fold(START, step) ^ name.len() as u64)
}

/// Hash of two numbers in order.
pub fn hash_pair(a: u64, b: u64) -> u64 {
    finish(step(step(START, a), b))
}

fn step(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(STEP).rotate_left(29)
}

/// Every bit of the input reaches every bit of the result.
fn finish(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rooms would move if this changed.
    #[test]
    fn the_hash_never_changes() {
        assert_eq!(hash(b""), 0xe9e0_033e_3bad_af36);
        assert_eq!(hash(b"room-1"), 0x28a5_6af2_7432_0b41);
        assert_eq!(hash("会议室".as_bytes()), 0xf611_be5b_10f6_5d2d);
        assert_eq!(hash_pair(1, 2), 0x154b_1cf3_90e2_38e3);
    }

    #[test]
    fn one_changed_bit_changes_half_of_all() {
        let mut flips = 0;
        for i in 0..1_000u64 {
            flips += (hash_pair(7, i) ^ hash_pair(7, i ^ 1 << (i % 64))).count_ones();
            flips += (hash_pair(i, 7) ^ hash_pair(i ^ 1 << (i % 64), 7)).count_ones();
        }
        assert!((31_000 * 2..33_000 * 2).contains(&flips), "{flips}");
        assert_ne!(hash(b"a"), hash(b"a\0"), "a name's length counts");
    }
}
