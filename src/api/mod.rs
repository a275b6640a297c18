//! HTTP for operators and orchestrators: `/metrics`, `/livez`, `/readyz`.
//!
//! It has a thread and a runtime of its own, so that it answers also when the workers are busy.

mod listener;

use crate::server::Readiness;
use crate::telemetry::metrics::Metrics;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use listener::BoundedListener;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;
use tokio::sync::oneshot;

/// HTTP connections at a time.
const MOST_CONNECTIONS: usize = 64;

/// What the endpoints tell about.
#[derive(Clone)]
pub struct ApiState {
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// For `/readyz`.
    pub readiness: Arc<Readiness>,
}

/// The endpoint; it stops when dropped, and its address is free then.
pub struct Api {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Api {
    fn drop(&mut self) {
        drop(self.stop.take());
        // It waits for nothing but this, so it ends at once; a panic in it has been reported.
        let _ = self.thread.take().map(thread::JoinHandle::join);
    }
}

impl Api {
    /// Binds `address` and serves it from a thread of its own.
    pub fn start(address: SocketAddr, state: ApiState) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = async move {
            let serve = async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(BoundedListener::new(listener, MOST_CONNECTIONS), routes(state)).await
            };
            tokio::select! {
                result = serve => if let Err(error) = result {
                    tracing::error!(%error, "the API has ended");
                },
                _ = stopped => {}
            }
        };
        let thread =
            thread::Builder::new().name("glint-api".into()).spawn(move || runtime.block_on(serve))?;
        tracing::info!(%address, "API listening");
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// The address that is bound.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn routes(state: ApiState) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .with_state(state)
}

/// Prometheus' text format, version 0.0.4.
async fn metrics(State(state): State<ApiState>) -> Response {
    match state.metrics.render() {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}

/// 200 as long as the process answers at all.
async fn livez() -> &'static str {
    "ok\n"
}

/// 200 when initiators are served; 503 with the reasons, one a line, when not.
async fn readyz(State(state): State<ApiState>) -> Response {
    let obstacles = state.readiness.obstacles();
    if obstacles.is_empty() {
        return "ok\n".into_response();
    }
    let reasons: String = obstacles.iter().flat_map(|reason| [reason, "\n"]).collect();
    (StatusCode::SERVICE_UNAVAILABLE, reasons).into_response()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
