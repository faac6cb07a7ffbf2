package result

// What the FTP server and client count. Labels: direction (get, put), user, mode.
var (
	FTPSessions  = Metric{"ftp_sessions", Gauge, "1", "sessions", "FTP control connections open.", "RFC 959"}
	FTPLogins    = Metric{"ftp_logins_total", Counter, "1", "logins", "Logins by outcome (accepted, refused).", "RFC 959 4.1.1"}
	FTPTransfers = Metric{"ftp_transfers_total", Counter, "1", "transfers", "Data transfers by direction and outcome.", "RFC 959 5.1"}
	FTPBytes     = Metric{"ftp_payload_bytes_total", Counter, "B", "FTP bytes", "Payload moved on data connections by direction.", "RFC 959"}
	FTPRefused   = Metric{"ftp_refused_total", Counter, "1", "refused", "Control connections refused by reason.", ""}
)

func ftpMetrics() []Metric {
	return []Metric{FTPSessions, FTPLogins, FTPTransfers, FTPBytes, FTPRefused}
}
