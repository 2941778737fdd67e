//! Random streams, and the random words that core asks for.

use lingua_core::draws::WORDS;
use lingua_core::{Draws, RequestId, Words};
pub use lingua_scenarios::streams::{Purpose, Stream, choose, cumulative_zipf, mix};

/// All streams of one seed.
#[derive(Debug, Clone)]
pub struct Streams(lingua_scenarios::streams::Streams);

impl Streams {
    /// The streams of a seed.
    pub fn new(seed: u64) -> Self {
        Self(lingua_scenarios::streams::Streams::new(seed))
    }

    /// The stream of an entity.
    pub fn stream(&self, purpose: Purpose, entity: u64) -> Stream {
        self.0.stream(purpose, entity)
    }

    /// One uniform number of [0, 1), keyed by entity and `n`.
    pub fn uniform(&self, purpose: Purpose, entity: u64, n: u64) -> f64 {
        self.0.uniform(purpose, entity, n)
    }
}

/// The words of a dispatch.
pub fn words(stream: &mut Stream) -> Words {
    let mut words = [0; WORDS];
    for word in &mut words {
        *word = stream.word();
    }
    Words(words)
}

/// One number for a request, whatever its session is called.
pub fn request_key(request: RequestId) -> u64 {
    let tag = request.tgt.as_str().bytes().fold(0u64, |h, b| h.wrapping_mul(257) ^ u64::from(b));
    mix(request.session.0 ^ mix(u64::from(request.index) ^ tag << 32))
}

impl Draws for Streams {
    fn words(&mut self, request: RequestId, attempt: u32) -> Words {
        let key = request_key(request) ^ mix(u64::from(attempt));
        let mut keyed = self.0.keyed(Purpose::Selection, key);
        let mut words = [0; WORDS];
        for two in words.chunks_mut(2) {
            let bits = keyed.bits();
            two[0] = bits as u32;
            two[1] = (bits >> 32) as u32;
        }
        Words(words)
    }
}
