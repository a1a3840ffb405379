"""ODE's constants: joint parameters and types, contact flags, motor modes."""

Infinity = float('inf')
environment = None

(
    paramLoStop,
    paramHiStop,
    paramVel,
    paramLoVel,
    paramHiVel,
    paramFMax,
    paramFudgeFactor,
    paramBounce,
    paramCFM,
    paramStopERP,
    paramStopCFM,
    paramSuspensionERP,
    paramSuspensionCFM,
    paramERP,
) = range(14)
(
    ParamLoStop,
    ParamHiStop,
    ParamVel,
    ParamLoVel,
    ParamHiVel,
    ParamFMax,
    ParamFudgeFactor,
    ParamBounce,
    ParamCFM,
    ParamStopERP,
    ParamStopCFM,
    ParamSuspensionERP,
    ParamSuspensionCFM,
    ParamERP,
) = range(14)
ParamGroup = 256
(
    ParamLoStop2,
    ParamHiStop2,
    ParamVel2,
    ParamLoVel2,
    ParamHiVel2,
    ParamFMax2,
    ParamFudgeFactor2,
    ParamBounce2,
    ParamCFM2,
    ParamStopERP2,
    ParamStopCFM2,
    ParamSuspensionERP2,
    ParamSuspensionCFM2,
    ParamERP2,
) = range(256, 270)
(
    ParamLoStop3,
    ParamHiStop3,
    ParamVel3,
    ParamLoVel3,
    ParamHiVel3,
    ParamFMax3,
    ParamFudgeFactor3,
    ParamBounce3,
    ParamCFM3,
    ParamStopERP3,
    ParamStopCFM3,
    ParamSuspensionERP3,
    ParamSuspensionCFM3,
    ParamERP3,
) = range(512, 526)

ContactMu2 = 0x001
ContactFDir1 = 0x002
ContactBounce = 0x004
ContactSoftERP = 0x008
ContactSoftCFM = 0x010
ContactMotion1 = 0x020
ContactMotion2 = 0x040
ContactMotionN = 0x080
ContactSlip1 = 0x100
ContactSlip2 = 0x200
ContactRolling = 0x400
ContactApprox0 = 0x0000
ContactApprox1_1 = 0x1000
ContactApprox1_2 = 0x2000
ContactApprox1_N = 0x4000
ContactApprox1 = 0x7000
ContactAxisDep = ContactMu2

AMotorUser, AMotorEuler = 0, 1

(
    JointTypeNone,
    JointTypeBall,
    JointTypeHinge,
    JointTypeSlider,
    JointTypeContact,
    JointTypeUniversal,
    JointTypeHinge2,
    JointTypeFixed,
    JointTypeNull,
    JointTypeAMotor,
    JointTypeLMotor,
    JointTypePlane2D,
    JointTypePR,
    JointTypePU,
    JointTypePiston,
    JointTypeDBall,
    JointTypeDHinge,
) = range(17)
