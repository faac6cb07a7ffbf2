package ethtool

import "golang.org/x/sys/unix"

// ioctl commands of linux/ethtool.h that package unix lacks.
const (
	gCoalesce   = 0x0e
	sCoalesce   = 0x0f
	gRingParam  = 0x10
	sRingParam  = 0x11
	gPauseParam = 0x12
	sPauseParam = 0x13
	gStrings    = 0x1b
	gStats      = 0x1d
	gSSetInfo   = 0x37
	gFeatures   = 0x3a
	sFeatures   = 0x3b
	gChannels   = 0x3c
	sChannels   = 0x3d
	gEEE        = 0x44
	sEEE        = 0x45
)

// groups lists the files that a table describes; features, link, stats and
// driver have forms of their own. Word numbers follow struct ethtool_coalesce,
// ethtool_ringparam, ethtool_channels, ethtool_pauseparam and ethtool_eee.
func groups() []group {
	return []group{coalesce(), rings(), channels(), pause(), eee()}
}

func coalesce() group {
	return group{
		name: "coalesce", get: unix.ETHTOOL_MSG_COALESCE_GET, set: unix.ETHTOOL_MSG_COALESCE_SET, header: unix.ETHTOOL_A_COALESCE_HEADER,
		ioctlGet: gCoalesce, ioctlSet: sCoalesce, words: 23,
		fields: []field{
			{"rx-usecs", unix.ETHTOOL_A_COALESCE_RX_USECS, 1, number, true},
			{"rx-frames", unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES, 2, number, true},
			{"rx-usecs-irq", unix.ETHTOOL_A_COALESCE_RX_USECS_IRQ, 3, number, true},
			{"rx-frames-irq", unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES_IRQ, 4, number, true},
			{"tx-usecs", unix.ETHTOOL_A_COALESCE_TX_USECS, 5, number, true},
			{"tx-frames", unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES, 6, number, true},
			{"tx-usecs-irq", unix.ETHTOOL_A_COALESCE_TX_USECS_IRQ, 7, number, true},
			{"tx-frames-irq", unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ, 8, number, true},
			{"stats-block-usecs", unix.ETHTOOL_A_COALESCE_STATS_BLOCK_USECS, 9, number, true},
			{"adaptive-rx", unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, 10, onOff, true},
			{"adaptive-tx", unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, 11, onOff, true},
			{"pkt-rate-low", unix.ETHTOOL_A_COALESCE_PKT_RATE_LOW, 12, number, true},
			{"rx-usecs-low", unix.ETHTOOL_A_COALESCE_RX_USECS_LOW, 13, number, true},
			{"rx-frames-low", unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES_LOW, 14, number, true},
			{"tx-usecs-low", unix.ETHTOOL_A_COALESCE_TX_USECS_LOW, 15, number, true},
			{"tx-frames-low", unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES_LOW, 16, number, true},
			{"pkt-rate-high", unix.ETHTOOL_A_COALESCE_PKT_RATE_HIGH, 17, number, true},
			{"rx-usecs-high", unix.ETHTOOL_A_COALESCE_RX_USECS_HIGH, 18, number, true},
			{"rx-frames-high", unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES_HIGH, 19, number, true},
			{"tx-usecs-high", unix.ETHTOOL_A_COALESCE_TX_USECS_HIGH, 20, number, true},
			{"tx-frames-high", unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES_HIGH, 21, number, true},
			{"sample-interval", unix.ETHTOOL_A_COALESCE_RATE_SAMPLE_INTERVAL, 22, number, true},
			{"cqe-mode-tx", unix.ETHTOOL_A_COALESCE_USE_CQE_MODE_TX, 0, onOff, true},
			{"cqe-mode-rx", unix.ETHTOOL_A_COALESCE_USE_CQE_MODE_RX, 0, onOff, true},
		},
	}
}

func rings() group {
	return group{
		name: "rings", get: unix.ETHTOOL_MSG_RINGS_GET, set: unix.ETHTOOL_MSG_RINGS_SET, header: unix.ETHTOOL_A_RINGS_HEADER,
		ioctlGet: gRingParam, ioctlSet: sRingParam, words: 9,
		fields: []field{
			{"rx", unix.ETHTOOL_A_RINGS_RX, 5, number, true},
			{"rx-mini", unix.ETHTOOL_A_RINGS_RX_MINI, 6, number, true},
			{"rx-jumbo", unix.ETHTOOL_A_RINGS_RX_JUMBO, 7, number, true},
			{"tx", unix.ETHTOOL_A_RINGS_TX, 8, number, true},
			{"rx-max", unix.ETHTOOL_A_RINGS_RX_MAX, 1, number, false},
			{"rx-mini-max", unix.ETHTOOL_A_RINGS_RX_MINI_MAX, 2, number, false},
			{"rx-jumbo-max", unix.ETHTOOL_A_RINGS_RX_JUMBO_MAX, 3, number, false},
			{"tx-max", unix.ETHTOOL_A_RINGS_TX_MAX, 4, number, false},
			{"rx-buf-len", unix.ETHTOOL_A_RINGS_RX_BUF_LEN, 0, number, true},
			{"tcp-data-split", unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT, 0, dataSplit, true},
			{"cqe-size", unix.ETHTOOL_A_RINGS_CQE_SIZE, 0, number, true},
			{"tx-push", unix.ETHTOOL_A_RINGS_TX_PUSH, 0, onOff, true},
			{"rx-push", unix.ETHTOOL_A_RINGS_RX_PUSH, 0, onOff, true},
			{"tx-push-buf-len", unix.ETHTOOL_A_RINGS_TX_PUSH_BUF_LEN, 0, number, true},
			{"tx-push-buf-len-max", unix.ETHTOOL_A_RINGS_TX_PUSH_BUF_LEN_MAX, 0, number, false},
			{"hds-thresh", unix.ETHTOOL_A_RINGS_HDS_THRESH, 0, number, true},
			{"hds-thresh-max", unix.ETHTOOL_A_RINGS_HDS_THRESH_MAX, 0, number, false},
		},
	}
}

func channels() group {
	return group{
		name: "channels", get: unix.ETHTOOL_MSG_CHANNELS_GET, set: unix.ETHTOOL_MSG_CHANNELS_SET, header: unix.ETHTOOL_A_CHANNELS_HEADER,
		ioctlGet: gChannels, ioctlSet: sChannels, words: 9,
		fields: []field{
			{"rx", unix.ETHTOOL_A_CHANNELS_RX_COUNT, 5, number, true},
			{"tx", unix.ETHTOOL_A_CHANNELS_TX_COUNT, 6, number, true},
			{"other", unix.ETHTOOL_A_CHANNELS_OTHER_COUNT, 7, number, true},
			{"combined", unix.ETHTOOL_A_CHANNELS_COMBINED_COUNT, 8, number, true},
			{"rx-max", unix.ETHTOOL_A_CHANNELS_RX_MAX, 1, number, false},
			{"tx-max", unix.ETHTOOL_A_CHANNELS_TX_MAX, 2, number, false},
			{"other-max", unix.ETHTOOL_A_CHANNELS_OTHER_MAX, 3, number, false},
			{"combined-max", unix.ETHTOOL_A_CHANNELS_COMBINED_MAX, 4, number, false},
		},
	}
}

// pause is flow control (IEEE 802.3 annex 31B).
func pause() group {
	return group{
		name: "pause", get: unix.ETHTOOL_MSG_PAUSE_GET, set: unix.ETHTOOL_MSG_PAUSE_SET, header: unix.ETHTOOL_A_PAUSE_HEADER,
		ioctlGet: gPauseParam, ioctlSet: sPauseParam, words: 4,
		fields: []field{
			{"autoneg", unix.ETHTOOL_A_PAUSE_AUTONEG, 1, onOff, true},
			{"rx", unix.ETHTOOL_A_PAUSE_RX, 2, onOff, true},
			{"tx", unix.ETHTOOL_A_PAUSE_TX, 3, onOff, true},
		},
	}
}

// eee is energy-efficient Ethernet (IEEE 802.3 clause 78).
func eee() group {
	return group{
		name: "eee", get: unix.ETHTOOL_MSG_EEE_GET, set: unix.ETHTOOL_MSG_EEE_SET, header: unix.ETHTOOL_A_EEE_HEADER,
		ioctlGet: gEEE, ioctlSet: sEEE, words: 10,
		fields: []field{
			{"eee", unix.ETHTOOL_A_EEE_ENABLED, 5, onOff, true},
			{"active", unix.ETHTOOL_A_EEE_ACTIVE, 4, onOff, false},
			{"tx-lpi", unix.ETHTOOL_A_EEE_TX_LPI_ENABLED, 6, onOff, true},
			{"tx-timer", unix.ETHTOOL_A_EEE_TX_LPI_TIMER, 7, number, true},
		},
	}
}
