//! A million hostile frames against a server of its own, and what others feel of it.
//!
//! `cargo run --release -p lingua-server --example hostile [FRAMES]` serves in a child process, lets
//! honest peers talk in calm and then under attack, and prints latencies, memory and how the
//! hostile sockets ended. It fails where memory is not bounded, the server dies, or a socket ends
//! without a reason.
#![allow(clippy::unwrap_used, reason = "a program for measurements")]

#[path = "../tests/it/fuzz.rs"]
#[allow(dead_code, reason = "its lists of single frames are for the tests")]
mod fuzz;
#[path = "../tests/it/peers/mod.rs"]
#[allow(dead_code, reason = "not all that tests do is done here")]
mod peers;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lingua_server::{Config, serve};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;

use fuzz::Fuzz;
use peers::{Client, Node, Socket};

/// Hostile sockets at once that send frames, frames of each, and the time between two.
const SENDERS: u64 = 16;
const FRAMES_PER_SOCKET: u64 = 200;
const PACE: Duration = Duration::from_millis(4);
/// Sessions that never read, nodes that fall silent, connections that never finish their request.
const DEAF: usize = 1_000;
const SILENT: usize = 500;
const SLOW: usize = 500;
/// Honest pairs of a client and a node, and how long each talks in calm.
const PAIRS: usize = 16;
const CALM: Duration = Duration::from_secs(20);
/// The server may grow so much beyond what it had in calm.
const GROWTH_MB: u64 = 512;

/// What any session socket may send.
const SESSION_CLOSE: &str = r#"{"type":"session_close","session_id":"s-1","reason":"x"}"#;

type Ends = BTreeMap<String, u64>;

fn main() {
    let mut args = std::env::args().skip(1);
    let first = args.next();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    if first.as_deref() == Some("--serve") {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            println!("{}", listener.local_addr().unwrap());
            serve(Config::default(), listener, std::future::pending()).await.unwrap();
        });
        return;
    }
    let frames = first.map_or(1_000_000, |frames| frames.parse().expect("a number of frames"));
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg("--serve")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let url = format!("ws://{}", address.trim());
    let fine = runtime.block_on(attack(&url, frames, &mut server));
    server.kill().unwrap();
    server.wait().unwrap();
    std::process::exit(i32::from(!fine));
}

async fn attack(url: &str, frames: u64, server: &mut Child) -> bool {
    let talks = Arc::new(AtomicBool::new(true));
    let stop_at = |talks: &Arc<AtomicBool>| talks.store(false, Ordering::Relaxed);
    let calm_talk = tokio::spawn(talk(url.to_owned(), talks.clone()));
    tokio::time::sleep(CALM).await;
    stop_at(&talks);
    let calm = calm_talk.await.unwrap();
    let memory_before = memory_mb(server.id(), "VmRSS");

    let talks = Arc::new(AtomicBool::new(true));
    let harmed_talk = tokio::spawn(talk(url.to_owned(), talks.clone()));
    let begun = Instant::now();
    let lingering = linger(url).await;
    let left = Arc::new(AtomicU64::new(frames));
    let senders: Vec<_> = (0..SENDERS)
        .map(|n| tokio::spawn(send_nonsense(url.to_owned(), n, left.clone())))
        .collect();
    let mut ends = Ends::new();
    for sender in senders {
        for (end, count) in sender.await.unwrap() {
            *ends.entry(end).or_default() += count;
        }
    }
    let took = begun.elapsed();
    stop_at(&talks);
    let harmed = harmed_talk.await.unwrap();
    drop(lingering);

    let memory = memory_mb(server.id(), "VmHWM");
    let alive = server.try_wait().unwrap().is_none();
    println!("{frames} hostile frames in {:.1} s", took.as_secs_f64());
    println!("honest exchanges, calm:         {}", shown(&calm));
    println!("honest exchanges, under attack: {}", shown(&harmed));
    let ratio = p(&harmed, 0.99) / p(&calm, 0.99);
    println!("p99 under attack / calm: {ratio:.2} (goal: 1.5)");
    println!("server memory: {memory_before} MB in calm, {memory} MB at most");
    println!("hostile sockets by how they ended: {ends:?}");
    let unexplained = ends.get("without a reason").copied().unwrap_or(0);
    alive && memory < memory_before + GROWTH_MB && unexplained == 0 && ratio <= 1.5
}

/// Honest pairs talk, one utterance after the other; the milliseconds from the end of each to its
/// translation, hangover included.
async fn talk(url: String, talks: Arc<AtomicBool>) -> Vec<f64> {
    let pairs = (0..PAIRS).map(|n| {
        let (url, talks) = (url.clone(), talks.clone());
        tokio::spawn(async move {
            let lang = format!("h{n}");
            let id = format!("honest-{lang}");
            let mut node = Node::register(&url, &id, &lang, "en", 4).await;
            let mut client = Client::open(&url, &lang, "en").await;
            let mut took = Vec::new();
            while talks.load(Ordering::Relaxed) {
                client.speak(5, false).await;
                let said = Instant::now();
                client.speak(0, true).await;
                let job = node.job().await;
                node.answer(&job, "fine").await;
                client.translation().await;
                took.push(said.elapsed().as_secs_f64() * 1e3);
                node.beat(0, 1.0, "").await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            took
        })
    });
    let mut all = Vec::new();
    for pair in pairs.collect::<Vec<_>>() {
        all.extend(pair.await.unwrap());
    }
    all.sort_by(f64::total_cmp);
    all
}

/// Peers that take what they can and give nothing.
async fn linger(url: &str) -> impl Sized {
    let mut deaf = Vec::new();
    for _ in 0..DEAF {
        let mut client = Client::with_small_buffer(url).await;
        deaf.push(tokio::spawn(async move {
            for _ in 0..100 {
                client.try_send(SESSION_CLOSE).await;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            client
        }));
    }
    let mut silent = Vec::new();
    for n in 0..SILENT {
        silent.push(Node::register(url, &format!("silent-{n}"), "qaa", "qab", 4).await);
    }
    let mut slow = Vec::new();
    for _ in 0..SLOW {
        slow.push(TcpStream::connect(url.strip_prefix("ws://").unwrap()).await.unwrap());
    }
    (deaf, silent, slow)
}

/// One hostile socket after the other, until all frames are sent.
async fn send_nonsense(url: String, seed: u64, left: Arc<AtomicU64>) -> Ends {
    let mut fuzz = Fuzz::new(seed);
    let mut ends = Ends::new();
    let honest = fuzz::honest();
    for n in 0.. {
        let (path, honest) = [("/ws/session", &honest[0]), ("/ws/node", &honest[1])][n % 2];
        let mut socket = Socket::open(&url, path).await;
        // A good frame now and then, so that the socket is not closed for the bad ones.
        let good = match n % 2 {
            0 => SESSION_CLOSE.to_owned(),
            _ => {
                let id = format!("fuzz-{seed}");
                socket.send_frame(Message::text(peers::register(&id, "qaa", "qab", 1))).await;
                honest[1].replace("fuzz-1", &id)
            }
        };
        let mut sent = 0;
        let mut pace = tokio::time::interval(PACE);
        while sent < FRAMES_PER_SOCKET {
            pace.tick().await;
            let frame = match fuzz.below(50_000) {
                0 => Message::text("x".repeat(20 << 20)),
                1..20 => fuzz::no_text(),
                _ if sent % 10 == 9 => Message::text(good.clone()),
                _ => fuzz.frame(honest),
            };
            let taken = socket.send_frame(frame).await;
            sent += 1;
            let over =
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            if !taken || over.is_err() {
                break;
            }
        }
        socket.say_goodbye().await;
        let end = match socket.closed().await {
            Some(code) => code.to_string(),
            // The reset of a connection that still sends may overtake what was said.
            None if sent < FRAMES_PER_SOCKET => "while sending".to_owned(),
            None => "without a reason".to_owned(),
        };
        *ends.entry(end).or_default() += 1;
        if left.load(Ordering::Relaxed) == 0 {
            break;
        }
    }
    ends
}

fn p(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}

fn shown(sorted: &[f64]) -> String {
    let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| p(sorted, share));
    format!("{} in all, p50 {p50:.1} ms, p99 {p99:.1} ms, max {max:.1} ms", sorted.len())
}

/// A figure of the server's memory, from the kernel.
fn memory_mb(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1_024
}
