//! Connections until they are sockets: each has little time, and an address has so many.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::config::Limits;

/// Longest head of a request; a token must fit.
const HEAD_BYTES: usize = 16 << 10;
/// Rest after an accept that failed, as it does when descriptors are short.
const REST: Duration = Duration::from_millis(20);

/// Connections per address, sockets included.
#[derive(Debug, Default)]
pub(crate) struct Addresses(Mutex<HashMap<IpAddr, usize>>);

/// One connection of an address: it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    addresses: Arc<Addresses>,
    address: IpAddr,
}

impl Addresses {
    fn enter(self: &Arc<Self>, address: IpAddr, most: usize) -> Option<Place> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Place { addresses: self.clone(), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.addresses.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

/// Takes connections until `stop` is over.
pub(crate) async fn accept(
    listener: &TcpListener,
    routes: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let addresses = Arc::new(Addresses::default());
    let mut handshakes = Handshakes { tasks: VecDeque::new(), most: limits.handshakes };
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                let address = peer.ip().to_canonical();
                // Beyond its share an address is turned away before it costs anything.
                let Some(place) = addresses.enter(address, limits.sockets_per_address) else {
                    continue;
                };
                let talk = talk(stream, peer, Arc::new(place), routes.clone(), limits.handshake);
                handshakes.add(tokio::spawn(talk).abort_handle());
            }
            Err(error) if is_of_one_peer(&error) => {}
            Err(_) => tokio::time::sleep(REST).await,
        }
    }
}

/// Requests of one connection, until it is a socket or over.
async fn talk(
    stream: TcpStream,
    peer: SocketAddr,
    place: Arc<Place>,
    routes: Router,
    patience: Duration,
) {
    // Frames are short and want to leave at once; without it they only leave later.
    let _ = stream.set_nodelay(true);
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(place.clone());
        routes.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // A peer that breaks off, or speaks no HTTP, is gone; there is nobody to tell.
    let _ = connection.await;
}

/// Connections that are not sockets yet. Where there are too many the oldest gives way, so that
/// slow ones never keep out a quick one.
struct Handshakes {
    tasks: VecDeque<AbortHandle>,
    most: usize,
}

impl Handshakes {
    fn add(&mut self, task: AbortHandle) {
        self.tasks.push_back(task);
        if self.tasks.len() > self.most {
            self.tasks.retain(|task| !task.is_finished());
        }
        if self.tasks.len() > self.most
            && let Some(oldest) = self.tasks.pop_front()
        {
            oldest.abort();
        }
    }
}

fn is_of_one_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_share_of_connections() {
        let addresses = Arc::new(Addresses::default());
        let one: IpAddr = "10.0.0.1".parse().unwrap();
        let places: Vec<_> = (0..3).map_while(|_| addresses.enter(one, 2)).collect();
        assert_eq!(places.len(), 2);
        assert!(addresses.enter("10.0.0.2".parse().unwrap(), 2).is_some());
        drop(places);
        assert!(addresses.0.lock().unwrap().is_empty());
        assert!(addresses.enter(one, 2).is_some());
    }
}
