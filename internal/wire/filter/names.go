package filter

// constants are names of header offsets and of values, as numbers
// (pcap-filter(7); RFC 9293 3.1, RFC 792, RFC 4443).
var constants = map[string]uint32{
	"tcpflags":                        13,
	"tcp-fin":                         1,
	"tcp-syn":                         2,
	"tcp-rst":                         4,
	"tcp-push":                        8,
	"tcp-ack":                         16,
	"tcp-urg":                         32,
	"tcp-ece":                         64,
	"tcp-cwr":                         128,
	"icmptype":                        0,
	"icmpcode":                        1,
	"icmp-echoreply":                  0,
	"icmp-unreach":                    3,
	"icmp-sourcequench":               4,
	"icmp-redirect":                   5,
	"icmp-echo":                       8,
	"icmp-routeradvert":               9,
	"icmp-routersolicit":              10,
	"icmp-timxceed":                   11,
	"icmp-paramprob":                  12,
	"icmp-tstamp":                     13,
	"icmp-tstampreply":                14,
	"icmp-ireq":                       15,
	"icmp-ireqreply":                  16,
	"icmp-maskreq":                    17,
	"icmp-maskreply":                  18,
	"icmp6type":                       0,
	"icmp6code":                       1,
	"icmp6-destinationunreach":        1,
	"icmp6-packettoobig":              2,
	"icmp6-timeexceeded":              3,
	"icmp6-parameterproblem":          4,
	"icmp6-echo":                      128,
	"icmp6-echoreply":                 129,
	"icmp6-multicastlistenerquery":    130,
	"icmp6-multicastlistenerreportv1": 131,
	"icmp6-multicastlistenerdone":     132,
	"icmp6-routersolicit":             133,
	"icmp6-routeradvert":              134,
	"icmp6-neighborsolicit":           135,
	"icmp6-neighboradvert":            136,
	"icmp6-redirect":                  137,
	"icmp6-routerrenum":               138,
	"icmp6-nodeinformationquery":      139,
	"icmp6-nodeinformationresponse":   140,
	"icmp6-ineighbordiscoverysolicit": 141,
	"icmp6-ineighbordiscoveryadvert":  142,
	"icmp6-multicastlistenerreportv2": 143,
	"icmp6-homeagentdiscoveryrequest": 144,
	"icmp6-homeagentdiscoveryreply":   145,
	"icmp6-mobileprefixsolicit":       146,
	"icmp6-mobileprefixadvert":        147,
	"icmp6-certpathsolicit":           148,
	"icmp6-certpathadvert":            149,
	"icmp6-multicastrouteradvert":     151,
	"icmp6-multicastroutersolicit":    152,
	"icmp6-multicastrouterterm":       153,
}

// ipProtocols are names behind proto (IANA protocol numbers).
var ipProtocols = map[string]uint32{
	"ip": 0, "hopopt": 0, "icmp": 1, "igmp": 2, "ipencap": 4, "tcp": 6, "egp": 8, "igp": 9, "udp": 17, "dccp": 33, "ipv6": 41,
	"ipv6-route": 43, "ipv6-frag": 44, "rsvp": 46, "gre": 47, "esp": 50, "ah": 51, "ipv6-icmp": 58, "icmp6": 58, "ipv6-nonxt": 59,
	"ipv6-opts": 60, "eigrp": 88, "ospf": 89, "ipip": 94, "etherip": 97, "pim": 103, "ipcomp": 108, "vrrp": 112, "l2tp": 115,
	"sctp": 132, "mobility-header": 135, "udplite": 136, "mpls-in-ip": 137, "hip": 139, "shim6": 140, "rohc": 142,
}

// etherProtocols are names behind ether proto (IANA ether types, IEEE 802 LLC).
var etherProtocols = map[string]uint32{
	"ip": typeIPv4, "ip6": typeIPv6, "arp": typeARP, "rarp": typeRARP, "aarp": typeAARP, "atalk": typeAtalk, "decnet": typeDecnet,
	"lat": 0x6004, "sca": 0x6007, "moprc": 0x6002, "mopdl": 0x6001, "loopback": 0x9000, "lldp": 0x88cc, "slow": 0x8809,
	"iso": sapISO, "stp": sapSTP, "ipx": sapIPX, "netbeui": sapNetBEUI,
}

// protocolNumber looks a name up behind "PROTO proto".
func protocolNumber(p protocol, name string) (uint32, bool) {
	table := ipProtocols
	switch p {
	case protoLink:
		table = etherProtocols
	case protoISO:
		table = map[string]uint32{"clnp": 0x81, "esis": 0x82, "isis": isoISIS}
	}
	v, ok := table[name]
	return v, ok
}

// reserved reports whether a word can't be a name.
func reserved(word string) bool {
	switch word {
	case "and", "or", "src", "dst", "host", "net", "mask", "port", "portrange", "proto", "less", "greater", "byte", "broadcast",
		"multicast", "inbound", "outbound", "vlan", "mpls", "pppoed", "pppoes", "geneve", "vxlan", "len", "length":
		return true
	}
	_, refuse := refused[word]
	_, proto := protocolOf(word)
	_, constant := constants[word]
	return refuse || proto || constant
}

// service is a named port and which of TCP and UDP have it.
type service struct {
	port uint16
	over transports
}

type transports uint8

const (
	tcpOnly transports = iota
	udpOnly
	tcpAndUDP
)

// protocols returns the IP protocols whose ports are meant. One that both TCP
// and UDP have is looked for in all that have ports, as a number is.
func (s service) protocols() []uint32 {
	switch s.over {
	case tcpOnly:
		return []uint32{protoTCP}
	case udpOnly:
		return []uint32{protoUDP}
	}
	return portProtocols
}

// portProtocols are the protocols with ports, in the order they are tested.
var portProtocols = []uint32{protoTCP, protoUDP, protoSCTP}

// services are the commonest names of Debian's /etc/services.
var services = map[string]service{
	"echo":          {7, tcpAndUDP},
	"discard":       {9, tcpAndUDP},
	"daytime":       {13, tcpAndUDP},
	"qotd":          {17, tcpOnly},
	"chargen":       {19, tcpAndUDP},
	"ftp-data":      {20, tcpOnly},
	"ftp":           {21, tcpOnly},
	"ssh":           {22, tcpOnly},
	"telnet":        {23, tcpOnly},
	"smtp":          {25, tcpOnly},
	"time":          {37, tcpAndUDP},
	"whois":         {43, tcpOnly},
	"tacacs":        {49, tcpAndUDP},
	"domain":        {53, tcpAndUDP},
	"bootps":        {67, udpOnly},
	"bootpc":        {68, udpOnly},
	"tftp":          {69, udpOnly},
	"gopher":        {70, tcpOnly},
	"finger":        {79, tcpOnly},
	"http":          {80, tcpOnly},
	"kerberos":      {88, tcpAndUDP},
	"pop3":          {110, tcpOnly},
	"sunrpc":        {111, tcpAndUDP},
	"auth":          {113, tcpOnly},
	"nntp":          {119, tcpOnly},
	"ntp":           {123, udpOnly},
	"epmap":         {135, tcpOnly},
	"netbios-ns":    {137, udpOnly},
	"netbios-dgm":   {138, udpOnly},
	"netbios-ssn":   {139, tcpOnly},
	"imap2":         {143, tcpOnly},
	"snmp":          {161, tcpAndUDP},
	"snmp-trap":     {162, tcpAndUDP},
	"bgp":           {179, tcpOnly},
	"ptp-event":     {319, udpOnly},
	"ptp-general":   {320, udpOnly},
	"ldap":          {389, tcpAndUDP},
	"https":         {443, tcpAndUDP},
	"microsoft-ds":  {445, tcpOnly},
	"isakmp":        {500, udpOnly},
	"exec":          {512, tcpOnly},
	"login":         {513, tcpOnly},
	"shell":         {514, tcpOnly},
	"syslog":        {514, tcpAndUDP},
	"printer":       {515, tcpOnly},
	"talk":          {517, udpOnly},
	"route":         {520, udpOnly},
	"gdomap":        {538, tcpAndUDP},
	"dhcpv6-client": {546, udpOnly},
	"dhcpv6-server": {547, udpOnly},
	"rtsp":          {554, tcpAndUDP},
	"submission":    {587, tcpOnly},
	"ipp":           {631, tcpOnly},
	"ldaps":         {636, tcpAndUDP},
	"domain-s":      {853, tcpAndUDP},
	"rsync":         {873, tcpOnly},
	"ftps-data":     {989, tcpOnly},
	"ftps":          {990, tcpOnly},
	"telnets":       {992, tcpOnly},
	"imaps":         {993, tcpOnly},
	"pop3s":         {995, tcpOnly},
	"socks":         {1080, tcpOnly},
	"openvpn":       {1194, tcpAndUDP},
	"ms-sql-s":      {1433, tcpOnly},
	"l2f":           {1701, udpOnly},
	"radius":        {1812, tcpAndUDP},
	"radius-acct":   {1813, tcpAndUDP},
	"nfs":           {2049, tcpAndUDP},
	"iscsi-target":  {3260, tcpOnly},
	"mysql":         {3306, tcpOnly},
	"ipsec-nat-t":   {4500, udpOnly},
	"sip":           {5060, tcpAndUDP},
	"sip-tls":       {5061, tcpAndUDP},
	"xmpp-client":   {5222, tcpOnly},
	"mdns":          {5353, udpOnly},
	"postgresql":    {5432, tcpOnly},
	"amqp":          {5672, tcpOnly},
	"x11":           {6000, tcpOnly},
	"redis":         {6379, tcpOnly},
	"sane-port":     {6566, tcpOnly},
	"git":           {9418, tcpOnly},
	"zabbix-agent":  {10050, tcpOnly},
}
